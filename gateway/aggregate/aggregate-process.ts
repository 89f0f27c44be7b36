import { showText } from '../../core/display';
import type { JsonObject } from '../../core/json';
import type { Log } from '../../ledger/log';
import { reasonOf } from '../../ledger/ledger-error';
import { readBridgeLine } from '../stdio/bridge-line';
import type { BridgeLine } from '../stdio/bridge-line';
import { INTERNAL_ERROR, SERVER_ERROR } from '../wire/refusal';
import { readServerMessage, tokenOf } from '../wire/server-message';
import type { ProcessListener, ServerProcess } from '../stdio/server-process';
import { AnswerRequests } from './answer-requests';
import { errorOf, resultOf } from './client-call';
import type { ClientCall, Watched } from './client-call';
import { ClientCalls } from './client-calls';
import { LISTS } from './list-kinds';
import { mergedGreeting } from './merged-greeting';
import { MergedLists } from './merged-lists';
import { ServerLink } from './server-link';
import type { ServerLinkOptions } from './server-link';
import { ServerLinks } from './server-links';
import type { JoinMs } from './server-links';
import type { ForServer } from './server-questions';
import { ServerQuestions } from './server-questions';

export interface AggregateProcessOptions {
  /** The names of the servers that the requester may use now, in order. */
  readonly accessible: () => Promise<readonly string[]>;
  /** The address of a server's own endpoint. */
  readonly urlOf: (server: string) => URL;
  readonly token: string;
  readonly joinMs: JoinMs;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly onListen: (listener: ProcessListener) => void;
  readonly onClose: () => void;
}

type Request = BridgeLine & { readonly id: string | number; readonly method: string };

/**
 * All servers of one client's session as if they were one process: it takes the client's lines and writes the servers'.
 * What it does itself is to find out whose a line is, and to keep apart what two servers name alike.
 */
export class AggregateProcess implements ServerProcess {
  readonly pid = undefined;
  readonly stderr = '';
  private readonly options: AggregateProcessOptions;
  private readonly calls = new ClientCalls();
  private readonly questions = new ServerQuestions();
  private readonly links: ServerLinks;
  private readonly lists: MergedLists;
  private readonly requests: AnswerRequests;
  private initialize: ServerLinkOptions['initialize'] | undefined;
  private initialized: string | null = null;
  private listener: ProcessListener | undefined;
  private closing: Promise<void> | undefined;

  constructor(options: AggregateProcessOptions) {
    const { accessible, log, joinMs } = options;
    this.options = options;
    const links = (this.links = new ServerLinks({
      accessible,
      create: (server) => this.link(server),
      onClosed: (link) => this.closed(link),
      joinMs,
    }));
    const lists = (this.lists = new MergedLists({ links, log }));
    this.requests = new AnswerRequests({ links, lists });
  }

  get alive(): boolean {
    return this.closing === undefined;
  }

  listen(listener: ProcessListener): void {
    this.listener = listener;
    this.options.onListen(listener);
  }

  /** Lets a request that is about to be written be left when this aborts. */
  watch(id: string | number, watched: Watched): void {
    this.calls.watch(id, watched);
  }

  write(message: string): boolean {
    if (!this.alive) return false;
    const line = readBridgeLine(message);
    if (line === undefined) return true;
    if (line.method === null) this.reply(message);
    else if (isRequest(line)) void this.request(line);
    else this.notice(line);
    return true;
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    this.calls.leaveAll();
    await this.links.close();
    this.options.onClose();
    this.listener?.ended('it was closed');
  }

  private async request(line: Request): Promise<void> {
    const call = this.calls.add(line);
    try {
      const text = await (line.method === 'initialize' ? this.greet(call) : this.requests.answer(call));
      if (text !== undefined) this.emit(text);
    } catch (error) {
      this.options.log.error({ error: String(error) }, 'gateway.aggregateFailed');
      this.emit(errorOf(call, INTERNAL_ERROR, `The gateway failed: ${reasonOf(error)}`));
    } finally {
      this.calls.remove(call);
    }
  }

  private async greet(call: ClientCall): Promise<string> {
    this.initialize = call;
    await this.links.refresh();
    const greetings = this.links.opened().map(({ server, greeting }) => ({ server, result: greeting ?? {} }));
    const all = this.links.all();
    if (greetings.length > 0) {
      return resultOf(call, JSON.stringify(mergedGreeting(greetings, greetings.length < all.length)));
    }
    const rule = 'No server is open to you here: ask an operator for access';
    const none = 'None of your servers could be reached, and the log of the gateway says why; try again later';
    return errorOf(call, SERVER_ERROR, all.length === 0 ? rule : none);
  }

  private reply(text: string): void {
    const message = readServerMessage(text);
    const id = message.kind === 'reply' ? tokenOf(message.id) : undefined;
    if (id !== undefined) this.toServer(this.questions.answer(id, text));
  }

  private notice({ method, params, text }: BridgeLine): void {
    switch (method) {
      case 'notifications/initialized':
        this.initialized = text;
        for (const link of this.links.opened()) void link.initialised(text);
        return;
      case 'notifications/cancelled': {
        const call = this.calls.cancel(params['requestId']);
        call?.link?.notify(text);
        return;
      }
      case 'notifications/progress': {
        const token = tokenOf(params['progressToken']);
        this.toServer(token === undefined ? undefined : this.questions.progress(token, text));
        return;
      }
      default:
        for (const link of this.links.opened()) link.notify(text);
    }
  }

  private toServer(found: ForServer | undefined): void {
    if (found !== undefined) this.links.get(found.server)?.notify(found.text);
  }

  /** What a server says that answers nothing. */
  private fromServer({ server }: ServerLink, text: string): void {
    const message = readServerMessage(text);
    if (message.kind === 'request') this.emit(this.questions.ask(server, text));
    if (message.kind !== 'notification') return;
    const { method, params } = message;
    for (const kind of LISTS) if (kind.changed === method) this.lists.clear(kind, server);
    if (method === 'notifications/cancelled') this.emit(this.questions.withdraw(server, params['requestId'], text));
    else if (this.concerns(server, method, params)) this.emit(text);
    else this.options.log.warn({ server, method: showText(method) }, 'gateway.notOfThisServer');
  }

  /** No server speaks of what is another's. */
  private concerns(server: string, method: string, { progressToken, uri }: JsonObject): boolean {
    if (method === 'notifications/progress') return this.calls.mayReport(server, progressToken);
    return method !== 'notifications/resources/updated' || this.requests.mayTellOf(server, uri);
  }

  private link(server: string): ServerLink {
    const { urlOf, token, log } = this.options;
    return new ServerLink({
      ...{ server, token, url: urlOf(server) },
      initialize: this.initialize ?? { id: 0, text: '' },
      initialized: () => this.initialized,
      take: (link, text) => this.fromServer(link, text),
      onOpen: (link) => this.opened(link),
      onRefused: (_, detail) => log.warn({ server, detail: showText(detail) }, 'gateway.serverLeftOut'),
    });
  }

  /** A session that began: at first, or later than the client's, or anew. */
  private opened(link: ServerLink): void {
    const { server } = link;
    this.questions.forget(server);
    for (const kind of LISTS) this.lists.clear(kind, server);
    if (this.initialized === null) return;
    void this.requests.resume(link);
    this.tellOfChange((capability) => link.declares(capability));
  }

  private closed(link: ServerLink): void {
    const { server } = link;
    this.questions.forget(server);
    this.lists.forget(server);
    this.requests.forget(server);
    this.tellOfChange((capability) => link.declares(capability));
  }

  private tellOfChange(concerns: (capability: string) => boolean): void {
    const notices = LISTS.flatMap(({ capability, changed }) => (concerns(capability) ? [changed] : []));
    for (const method of new Set(notices)) if (method !== null) this.emit(JSON.stringify({ jsonrpc: '2.0', method }));
  }

  private emit(text: string | undefined): void {
    if (text !== undefined && this.alive) this.listener?.line(text);
  }
}

function isRequest(line: BridgeLine): line is Request {
  return line.id !== null && line.method !== null;
}
