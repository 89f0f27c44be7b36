import { requesterId, type Requester } from '../../core/requester';
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../core/json';
import type { ClientMessage, ClientSession } from '../ports';
import type { JudgedCall } from '../wire/judge-call';
import { idText, spanAt, withValueAt } from '../wire/raw-json';
import { objectOr } from '../wire/server-message';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const TOKEN_IN_REQUEST = ['params', '_meta', 'progressToken'];
const TOKEN_IN_NOTICE = ['params', 'progressToken'];
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** A request of one of many clients at a shared process. */
export interface StatelessCall extends Omit<JudgedCall, 'takesStream'> {
  /** Its id and its progress token at the server: those of two clients may be the same. */
  readonly ownId: string;
  readonly session: ClientSession;
  readonly requester: string;
  /** What its sender says of itself, for what the gateway sends on its behalf. */
  readonly meta: JsonObject;
  /** False while the gate judges it: the server has not seen it then. */
  sent: boolean;
}

/** The requests of all clients at a shared process, each under an id of the gateway's own there. */
export class StatelessCalls {
  private readonly prefix = `holdpoint-${randomBytes(16).toString('base64url')}-`;
  private readonly calls = new Map<string, StatelessCall>();
  private lastId = 0;

  get size(): number {
    return this.calls.size;
  }

  add(call: Omit<StatelessCall, 'ownId' | 'sent'>): StatelessCall {
    const added = { ...call, ownId: `${this.prefix}${(this.lastId += 1)}`, sent: false };
    this.calls.set(added.ownId, added);
    return added;
  }

  remove({ ownId }: StatelessCall): boolean {
    return this.calls.delete(ownId);
  }

  all(): readonly StatelessCall[] {
    return [...this.calls.values()];
  }

  /** How many one requester has in flight. */
  of(requester: Requester): number {
    const key = requesterId(requester);
    return this.all().filter((call) => call.requester === key).length;
  }

  get(ownId: unknown): StatelessCall | undefined {
    return typeof ownId === 'string' ? this.calls.get(ownId) : undefined;
  }

  /** Whom a notice without any link to a request is for: the one request that asked for such, if it is alone. */
  onlyOneThatLogs(): StatelessCall | undefined {
    const [only, another] = this.calls.values();
    const logs = objectOr(only?.message.params['_meta'])[LOG_LEVEL] !== undefined;
    return another === undefined && logs ? only : undefined;
  }
}

/** The request as the server gets it: its id and progress token are the gateway's, all else is as it was written. */
export function textForServer({ message, ownId }: StatelessCall): string {
  const own = JSON.stringify(ownId);
  return withValueAt(withValueAt(message.text, ['id'], own), TOKEN_IN_REQUEST, own);
}

/** The server's answer as the client gets it, under the id that it wrote. */
export function answerForClient({ message, ownId }: StatelessCall, line: string): string {
  const id = idText(message.text);
  const answer = withValueAt(line, ['id'], id);
  return replaced(answer, ['result', '_meta', SUBSCRIPTION], { from: ownId, to: id });
}

/** Progress as the client gets it, under its own token. */
export function progressForClient({ message }: StatelessCall, line: string): string {
  return withValueAt(line, TOKEN_IN_NOTICE, progressToken(message));
}

/** A notice of a subscription as the client gets it, under the id of the request that subscribed. */
export function noticeForClient({ message }: StatelessCall, line: string): string {
  return withValueAt(line, ['params', '_meta', SUBSCRIPTION], idText(message.text));
}

/** The subscription that a notice belongs to, by the id of its request at the server. */
export function subscriptionOf(params: ClientMessage['params']): unknown {
  return objectOr(params['_meta'])[SUBSCRIPTION];
}

function progressToken({ text }: ClientMessage): string {
  const span = spanAt(text, TOKEN_IN_REQUEST);
  return span === undefined ? 'null' : text.slice(span.start, span.end);
}

function replaced(
  text: string,
  path: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): string {
  const span = spanAt(text, path);
  return span !== undefined && text.slice(span.start, span.end) === JSON.stringify(from)
    ? text.slice(0, span.start) + to + text.slice(span.end)
    : text;
}
