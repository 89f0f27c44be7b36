import { randomUUID } from 'node:crypto';
import { showText } from '../../core/display';
import type { JsonObject, JsonValue } from '../../core/json';
import { withValueAt } from '../wire/raw-json';
import { INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR } from '../wire/refusal';
import { objectOr } from '../wire/server-message';
import { AskServers } from './ask-servers';
import type { AnswerText } from './ask-servers';
import { errorOf, resultOf } from './client-call';
import type { ClientCall } from './client-call';
import { LISTS, PROMPTS, TASKS, TOOLS } from './list-kinds';
import type { ListKind } from './list-kinds';
import type { MergedLists } from './merged-lists';
import { Owners } from './owners';
import type { ServerLink } from './server-link';
import type { ServerLinks } from './server-links';
import { TaskOwners } from './task-owners';

/** Up to 2025-11-25. */
const RESOURCE_NOT_FOUND = -32002;

export interface AnswerRequestsOptions {
  readonly links: ServerLinks;
  readonly lists: MergedLists;
}

type Handler = (call: ClientCall) => AnswerText;

/** Answers the client's requests: each by the server whose it is, lists by all of them, and little by itself. */
export class AnswerRequests {
  private readonly lists: MergedLists;
  private readonly owners: Owners;
  private readonly servers: AskServers;
  private readonly tasks = new TaskOwners();
  /** Which server took a subscription. */
  private readonly subscribed = new Map<string, string>();
  /** The client's wish for logs, as it said it last. */
  private level: JsonObject | null = null;
  private readonly handlers: ReadonlyMap<string, Handler>;

  constructor({ links, lists }: AnswerRequestsOptions) {
    this.lists = lists;
    this.owners = new Owners({ links, lists });
    this.servers = new AskServers(links);
    const resource: Handler = (call) => this.resource(call, call.params['uri']);
    const task: Handler = (call) => this.task(call);
    this.handlers = new Map<string, Handler>([
      ...LISTS.map((kind): [string, Handler] => [kind.method, (call) => this.list(call, kind)]),
      ['ping', (call) => Promise.resolve(resultOf(call, '{}'))],
      ['tools/call', (call) => this.call(call)],
      ['prompts/get', (call) => this.named(call, PROMPTS, ['name'])],
      ['completion/complete', (call) => this.completion(call)],
      ['resources/read', resource],
      ['resources/subscribe', resource],
      ['resources/unsubscribe', resource],
      ['logging/setLevel', (call) => this.setLevel(call)],
      ['tasks/get', task],
      ['tasks/result', task],
      ['tasks/cancel', task],
    ]);
  }

  answer(call: ClientCall): AnswerText {
    const handler = this.handlers.get(call.method);
    if (handler !== undefined) return handler(call);
    const detail = `${showText(call.method)} is not served here; the server's own endpoint may: /mcp/ and its name`;
    return Promise.resolve(errorOf(call, METHOD_NOT_FOUND, detail));
  }

  /** Whether a server may tell of a change of this resource: not where another one took the subscription. */
  mayTellOf(server: string, uri: JsonValue | undefined): boolean {
    const owner = typeof uri === 'string' ? this.subscribed.get(uri) : undefined;
    return owner === undefined || owner === server;
  }

  /** The requester may not use a server any more. */
  forget(server: string): void {
    for (const [uri, owner] of this.subscribed) if (owner === server) this.subscribed.delete(uri);
  }

  /** Tells a server whose session is new what the client has told the one before, and all others. */
  async resume(link: ServerLink): Promise<void> {
    const uris = [...this.subscribed].flatMap(([uri, server]) => (server === link.server ? [uri] : []));
    const asked = uris.map((uri) => ownRequest('resources/subscribe', { uri }));
    if (this.level !== null && link.declares('logging')) asked.push(ownRequest('logging/setLevel', this.level));
    await Promise.all(asked.map((request) => link.ask(request)));
  }

  private async list(call: ClientCall, kind: ListKind): AnswerText {
    const page = await this.lists.page(kind, call.params);
    if (page.ok) return resultOf(call, page.result);
    const why = page.detail === null ? null : `No server gave its list: ${page.detail}`;
    if (why !== null) return errorOf(call, SERVER_ERROR, why);
    return errorOf(call, INVALID_PARAMS, 'This cursor was not given out for this list: list from the start');
  }

  /** A request for what is shown under a name of ours: its server gets it under its own. */
  private async named(
    call: ClientCall,
    kind: ListKind,
    path: readonly [string] | readonly ['ref', string],
  ): AnswerText {
    const at = path[0] === 'ref' ? objectOr(call.params['ref']) : call.params;
    const shown = at[path.at(-1) ?? ''];
    if (typeof shown !== 'string') return errorOf(call, INVALID_PARAMS, 'The name has to be a text');
    const found = await this.owners.named(kind, shown);
    if (!found.ok) return errorOf(call, found.code, found.detail);
    const { server, key } = found.owner;
    return this.servers.one(call, server, withValueAt(call.text, ['params', ...path], JSON.stringify(key)));
  }

  private async call(call: ClientCall): AnswerText {
    const text = await this.named(call, TOOLS, ['name']);
    if (text !== undefined && call.params['task'] !== undefined && call.link !== undefined) {
      this.tasks.learn(call.link.server, text);
    }
    return text;
  }

  private completion(call: ClientCall): AnswerText {
    const { type, uri } = objectOr(call.params['ref']);
    return type === 'ref/prompt' ? this.named(call, PROMPTS, ['ref', 'name']) : this.resource(call, uri);
  }

  private async resource(call: ClientCall, uri: JsonValue | undefined): AnswerText {
    if (typeof uri !== 'string') return errorOf(call, INVALID_PARAMS, 'The URI has to be a text');
    const owner = this.subscribed.get(uri);
    const isEnd = call.method === 'resources/unsubscribe';
    if (isEnd && owner !== undefined) {
      this.subscribed.delete(uri);
      return this.servers.one(call, owner, call.text);
    }
    const found = await this.owners.ofResource(uri);
    if (!found.ok) return errorOf(call, found.code, found.detail);
    const { server, text } = await this.servers.inTurn(call, found, (notAsked) => notFound(call, uri, notAsked));
    if (server !== null && call.method === 'resources/subscribe') this.subscribed.set(uri, server);
    return text;
  }

  private async task(call: ClientCall): AnswerText {
    const { taskId } = call.params;
    if (typeof taskId !== 'string') return errorOf(call, INVALID_PARAMS, 'The taskId has to be a text');
    const candidates = this.owners.first(this.tasks.of(taskId), TASKS.capability);
    const unknown = (): string => errorOf(call, INVALID_PARAMS, 'No server knows this task');
    return (await this.servers.inTurn(call, candidates, unknown)).text;
  }

  private setLevel(call: ClientCall): AnswerText {
    this.level = call.params;
    return this.servers.all(call, 'logging', errorOf(call, METHOD_NOT_FOUND, 'None of the servers here logs'));
  }
}

function ownRequest(method: string, params: JsonObject) {
  const id = `holdpoint-${randomUUID()}`;
  return { id, text: JSON.stringify({ jsonrpc: '2.0', id, method, params }) };
}

function notFound(call: ClientCall, uri: string, notAsked: readonly string[]): string {
  const rest = notAsked.length === 0 ? '' : `; these could not be asked: ${notAsked.join(', ')}`;
  return errorOf(call, RESOURCE_NOT_FOUND, `None of the servers here has the resource "${showText(uri)}"${rest}`);
}
