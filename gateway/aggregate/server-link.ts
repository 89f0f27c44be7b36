import type { IncomingMessage } from 'node:http';
import { leave } from '../../activities/http-exchange';
import type { HttpExchange } from '../../activities/http-exchange';
import { parseJson } from '../../activities/rpc';
import type { JsonObject } from '../../core/json';
import { answerOf } from '../stdio/bridge-line';
import { BridgeLink } from '../stdio/bridge-link';
import { InOrder } from '../stdio/in-order';
import { withValueAt } from '../wire/raw-json';
import { SERVER_ERROR } from '../wire/refusal';
import { objectOr } from '../wire/server-message';
import type { TraceContext } from '../../tracing/span';
import { CLOSED_HEADER } from './loopback';

/** As long as an endpoint lets a server take. */
const HANDSHAKE_MS = 60_000;

/** A request in the text in which it goes to a server. */
export interface LinkRequest {
  readonly id: string | number;
  readonly text: string;
  /** Aborted to leave its answer, as a client leaves that closes its connection. */
  readonly signal?: AbortSignal;
  /** Goes along as headers. */
  readonly trace?: TraceContext | undefined;
}

export type LinkAnswer = { readonly kind: 'answer'; readonly text: string; readonly value: JsonObject } | NoAnswer;

/**
 * There is no answer of the server. `unreached`: there is no session, so nothing was sent. `closed`: the server is not
 * open to this requester any more, so nothing was sent either.
 */
export interface NoAnswer {
  readonly kind: 'failed' | 'unreached' | 'closed';
  readonly code: number;
  readonly message: string;
}

export interface ServerLinkOptions {
  readonly server: string;
  /** The server's own endpoint. */
  readonly url: URL;
  readonly token: string;
  /** The client's own `initialize`: each server gets it as it is. */
  readonly initialize: { readonly id: string | number; readonly text: string };
  /** The client's `initialized`, once it has come. */
  readonly initialized: () => string | null;
  /** Takes what the server says that is no answer to a request. */
  readonly take: (link: ServerLink, text: string) => void;
  /** Called when a session was begun. */
  readonly onOpen: (link: ServerLink) => void;
  /** Called when no session could be begun. */
  readonly onRefused: (link: ServerLink, detail: string) => void;
}

/** One client's session at one server's own endpoint. */
export class ServerLink {
  readonly server: string;
  /** What the server answered to `initialize`; null while there is no session. */
  greeting: JsonObject | null = null;
  private readonly options: ServerLinkOptions;
  private readonly link: BridgeLink;
  private readonly over = new AbortController();
  private readonly order = new InOrder();
  private opening: Promise<boolean> | undefined;

  constructor(options: ServerLinkOptions) {
    const { server, url, token } = options;
    this.options = options;
    this.server = server;
    this.link = new BridgeLink({ url, token, signal: this.over.signal });
  }

  get isOpen(): boolean {
    return this.greeting !== null && !this.over.signal.aborted;
  }

  /** Whether the server has declared something. */
  declares(capability: string): boolean {
    return objectOr(this.greeting?.['capabilities'])[capability] !== undefined;
  }

  /** Begins a session where there is none; false where that cannot be done. */
  ready(): Promise<boolean> {
    if (this.over.signal.aborted) return Promise.resolve(false);
    if (this.greeting !== null) return Promise.resolve(true);
    return this.begin();
  }

  /** Sends a request once; what the server says before its answer goes to `take`. */
  async ask(request: LinkRequest): Promise<LinkAnswer> {
    if (!(await this.ready())) return { ...failed('there is no session'), kind: 'unreached' };
    return new Promise((resolve) => {
      this.order.run('request', async (taken) => resolve(await this.send(request, taken)));
    });
  }

  /** Sends what has no answer: a notice, or the client's answer to a question. */
  notify(text: string): void {
    if (!this.isOpen) return;
    this.order.run('notice', async (taken) => {
      const sent = await this.link.post(text, { sessionId: this.link.sessionId });
      taken();
      if (sent.ok) leave(sent.response);
    });
  }

  /** Passes on that the client is initialised: from now on it can be asked. */
  async initialised(text: string): Promise<void> {
    const sent = await this.link.post(text, { sessionId: this.link.sessionId });
    if (sent.ok) leave(sent.response);
    void this.link.listen((message) => this.options.take(this, message));
  }

  /** Ends the session, whatever is in flight. */
  async close(): Promise<void> {
    this.over.abort();
    await this.link.end();
  }

  private begin(): Promise<boolean> {
    this.opening ??= this.open().finally(() => (this.opening = undefined));
    return this.opening;
  }

  private async open(): Promise<boolean> {
    const { initialize, onRefused, onOpen, initialized } = this.options;
    const signal = AbortSignal.any([this.over.signal, AbortSignal.timeout(HANDSHAKE_MS)]);
    const sent = await this.link.post(initialize.text, { signal });
    const answer = sent.ok ? await this.read(initialize, sent.response) : lost(sent.detail);
    if (this.over.signal.aborted) return false;
    const greeting = answer.kind === 'answer' ? answer.value['result'] : undefined;
    if (!sent.ok || greeting === undefined) {
      onRefused(this, answer.kind === 'answer' ? answer.text : answer.message);
      return false;
    }
    this.greeting = objectOr(greeting);
    this.link.agree(sent.response.headers['mcp-session-id'], this.greeting['protocolVersion']);
    const notice = initialized();
    if (notice !== null) await this.initialised(notice);
    onOpen(this);
    return true;
  }

  private async send(request: LinkRequest, taken: () => void): Promise<LinkAnswer> {
    const signal = request.signal && AbortSignal.any([this.over.signal, request.signal]);
    const { sessionId } = this.link;
    const { trace } = request;
    let sent = await this.link.post(request.text, { sessionId, signal, trace });
    // A 404 proves that nothing was taken up.
    if (isGone(sent) && (await this.renewed(sessionId))) {
      leave(sent.response);
      sent = await this.link.post(request.text, { sessionId: this.link.sessionId, signal, trace });
    }
    taken();
    return sent.ok ? this.read(request, sent.response) : lost(sent.detail);
  }

  /** Begins anew with the client's own `initialize` where its session is gone. */
  private async renewed(gone: string | undefined): Promise<boolean> {
    if (gone === undefined || this.over.signal.aborted) return false;
    return this.link.sessionId !== gone && this.opening === undefined ? this.isOpen : this.begin();
  }

  private async read({ id }: Pick<LinkRequest, 'id'>, response: IncomingMessage): Promise<LinkAnswer> {
    const found: { text: string; value: JsonObject | undefined } = { text: '', value: undefined };
    const end = await this.link.read(response, (message) => {
      found.value = answerOf(message, id);
      found.text = message;
      if (found.value === undefined && isSuccess(response)) this.options.take(this, message);
      return found.value !== undefined;
    });
    if (response.headers[CLOSED_HEADER] !== undefined) return { ...refusedIn(found.text), kind: 'closed' };
    if (found.value !== undefined)
      return { kind: 'answer', text: underId(found.text, found.value, id), value: found.value };
    return isSuccess(response) ? lost(end.detail) : refusedIn(found.text, response.statusCode);
  }
}

/** Some servers send a number back as text, which here may be the id of another server's call. */
function underId(text: string, { id }: JsonObject, asked: string | number): string {
  return id === asked ? text : withValueAt(text, ['id'], JSON.stringify(asked));
}

function isGone(sent: HttpExchange): sent is HttpExchange & { readonly ok: true } {
  return sent.ok && sent.response.statusCode === 404;
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** A refusal by HTTP, in its own words where it has some. */
function refusedIn(text: string, status = 0): NoAnswer {
  const { code, message } = objectOr(objectOr(parseJson(text))['error']);
  if (typeof message !== 'string') return failed(`The server's endpoint answered HTTP ${status}`);
  return { kind: 'failed', code: typeof code === 'number' ? code : SERVER_ERROR, message };
}

function lost(detail: string): NoAnswer {
  return failed(`There is no answer of the server: ${detail}; whether this request ran is not known`);
}

function failed(message: string): NoAnswer {
  return { kind: 'failed', code: SERVER_ERROR, message };
}
