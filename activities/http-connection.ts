import { setMaxListeners } from 'node:events';
import { Agent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { TURN_LIMITS } from '../core/turn';
import { isJsonArray } from '../core/json';
import type { JsonObject } from '../core/json';
import { readEvents } from './event-stream';
import { exchange, leave, readBody } from './http-exchange';
import type { HttpExchange } from './http-exchange';
import { answerToServer, isIdOf, lost, parseJson, readRpcMessage } from './rpc';
import type { RpcConnection, RpcMessage, RpcReply, RpcRequest } from './rpc';
import { traceContext } from '../tracing/span';
import { limitTime } from './time-limit';
import type { TimeLimit } from './time-limit';

const SIDE_MESSAGE_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_REFUSAL_BYTES = 65_536;
/** The envelope of JSON-RPC around a result. */
const MAX_ANSWER_BYTES = TURN_LIMITS.resultBytes + 4_096;
const RESUME_AFTER_MS = 50;
const LONGEST_RESUME_WAIT_MS = 5_000;

/** A streamable-HTTP connection: the session of one client at one MCP endpoint. */
export function createHttpConnection(url: URL, headers: Readonly<Record<string, string>>): RpcConnection {
  return new HttpConnection(url, headers);
}

/** A session that somebody else opened and will end. */
export interface ForeignSession {
  /** Null where the server has no sessions. */
  readonly sessionId: string | null;
  readonly protocolVersion: string | null;
  /** Ids of requests are counted from here: far from those of the session's own client. */
  readonly firstId: number;
  readonly agent: Agent;
  /** What the headers of one message repeat of it (2026-07-28). */
  readonly headersOf?: (message: JsonObject) => Readonly<Record<string, string>>;
}

/** A further connection on such a session; closing it leaves the session open. */
export function joinHttpSession(
  url: URL,
  headers: Readonly<Record<string, string>>,
  session: ForeignSession,
): RpcConnection {
  return new HttpConnection(url, headers, session);
}

class HttpConnection implements RpcConnection {
  closed = false;
  private readonly url: URL;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly agent: Agent;
  private readonly closing = new AbortController();
  private sessionId: string | undefined;
  private protocolVersion: string | undefined;
  private readonly foreign: ForeignSession | undefined;
  private lastId: number;

  constructor(url: URL, headers: Readonly<Record<string, string>>, foreign?: ForeignSession) {
    this.url = url;
    this.headers = headers;
    this.foreign = foreign;
    this.sessionId = foreign?.sessionId ?? undefined;
    this.protocolVersion = foreign?.protocolVersion ?? undefined;
    this.lastId = foreign?.firstId ?? 0;
    this.agent = foreign?.agent ?? keepAliveAgent(url);
    // One listener for each request in flight, which Node would take for a leak from the eleventh on.
    setMaxListeners(0, this.closing.signal);
  }

  async request({ method, params, timeoutMs, signal, repeatable }: RpcRequest): Promise<RpcReply> {
    const id = (this.lastId += 1);
    const limit = limitTime(timeoutMs, [signal, this.closing.signal]);
    try {
      const sent = await this.post(
        { jsonrpc: '2.0', id, method, params },
        limit.signal,
        repeatable ? this.agent : false,
      );
      const reply = await this.replyOf(sent, { id, method, limit });
      const reason = limit.reason();
      if (reason === undefined || reply.kind !== 'lost') return reply;
      if (method !== 'initialize') void this.send(cancelled(id, reason));
      return lost(reason, true);
    } finally {
      limit.release();
    }
  }

  async notify(method: string): Promise<void> {
    await this.send({ jsonrpc: '2.0', method });
  }

  useProtocol(version: string): void {
    this.protocolVersion = version;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.closing.abort();
    if (this.sessionId !== undefined && this.foreign === undefined) {
      const signal = AbortSignal.timeout(CLOSE_TIMEOUT_MS);
      discard(await exchange({ url: this.url, method: 'DELETE', headers: this.head(), agent: false, signal }));
    }
    if (this.foreign === undefined) this.agent.destroy();
  }

  private head(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      ...this.headers,
      ...(this.sessionId !== undefined && { 'mcp-session-id': this.sessionId }),
      ...(this.protocolVersion !== undefined && { 'mcp-protocol-version': this.protocolVersion }),
      ...more,
    };
  }

  private post(message: JsonObject, signal: AbortSignal, agent: Agent | false): Promise<HttpExchange> {
    const body = JSON.stringify(message);
    const headers = this.head({
      ...this.foreign?.headersOf?.(message),
      ...traceContext(),
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json, text/event-stream',
    });
    return exchange({ url: this.url, method: 'POST', headers, body, agent, signal });
  }

  /** Sends what has no answer that matters. */
  private async send(message: JsonObject): Promise<void> {
    discard(await this.post(message, AbortSignal.timeout(SIDE_MESSAGE_TIMEOUT_MS), this.agent));
  }

  private async replyOf(sent: HttpExchange, call: PendingCall): Promise<RpcReply> {
    if (!sent.ok && sent.sent) return lost(sent.detail);
    if (!sent.ok) return { kind: 'notDispatched', detail: call.limit.reason() ?? sent.detail };
    const { response } = sent;
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) return this.refusalOf(response, status);
    if (call.method === 'initialize') this.sessionId = textHeader(response, 'mcp-session-id');
    const type = textHeader(response, 'content-type')?.split(';')[0]?.trim().toLowerCase();
    if (type === 'text/event-stream') return this.replyInStream(response, call);
    if (type === 'application/json') return replyInBody(await readBody(response, MAX_ANSWER_BYTES), call.id, status);
    response.destroy();
    return lost(`HTTP ${status} with content of type ${type ?? 'unknown'} instead of an answer`);
  }

  private async refusalOf(response: IncomingMessage, status: number): Promise<RpcReply> {
    const challenged = textHeader(response, 'www-authenticate') !== undefined;
    const body = await readBody(response, MAX_REFUSAL_BYTES);
    const detail = `the server answered HTTP ${status}`;
    if (status === 404) return { kind: this.sessionId === undefined ? 'notDispatched' : 'sessionGone', detail };
    if ((status === 401 || status === 403) && challenged) return { kind: 'notDispatched', detail };
    const value = body.ok && status < 500 ? parseJson(body.text) : undefined;
    const message = value === undefined ? undefined : readRpcMessage(value, status);
    return message?.kind === 'reply' && message.reply.kind === 'error' ? message.reply : lost(detail);
  }

  /** A stream that carried an event id may be resumed: that asks for the answer again, never for the call. */
  private async replyInStream(first: IncomingMessage, call: PendingCall): Promise<RpcReply> {
    let response = first;
    let lastEventId: string | undefined;
    for (;;) {
      let reply: RpcReply | undefined;
      const end = await readEvents(response, MAX_ANSWER_BYTES, ({ id, data }) => {
        lastEventId = id ?? lastEventId;
        reply = this.replyInEvent(data, call.id);
        return reply !== undefined;
      });
      if (reply !== undefined) return reply;
      const detail = end?.detail ?? 'the stream ended';
      if (lastEventId === undefined || call.limit.signal.aborted) return lost(detail);
      if (end?.complete === true) await pause(end.retryMs, call.limit.signal);
      const resumed = await this.resume(lastEventId, call.limit.signal);
      if (resumed === undefined) return lost(detail);
      response = resumed;
    }
  }

  private replyInEvent(data: string, id: number): RpcReply | undefined {
    const value = parseJson(data);
    const message = value === undefined ? undefined : readRpcMessage(value);
    if (message?.kind === 'request') void this.send(answerToServer(message));
    return message?.kind === 'reply' ? ownReply(message, id) : undefined;
  }

  private async resume(lastEventId: string, signal: AbortSignal): Promise<IncomingMessage | undefined> {
    const headers = this.head({ accept: 'text/event-stream', 'last-event-id': lastEventId });
    const resumed = await exchange({ url: this.url, method: 'GET', headers, agent: false, signal });
    if (resumed.ok && resumed.response.statusCode === 200) return resumed.response;
    discard(resumed);
    return undefined;
  }
}

export function keepAliveAgent(url: URL): Agent {
  return url.protocol === 'https:' ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
}

interface PendingCall {
  readonly id: number;
  readonly method: string;
  readonly limit: TimeLimit;
}

function replyInBody(body: Awaited<ReturnType<typeof readBody>>, id: number, status: number): RpcReply {
  if (!body.ok) return lost(body.detail);
  const value = parseJson(body.text);
  if (value === undefined) return lost('the answer is not JSON');
  for (const item of isJsonArray(value) ? value : [value]) {
    const message = readRpcMessage(item, status);
    const reply = message.kind === 'reply' ? ownReply(message, id) : undefined;
    if (reply !== undefined) return reply;
  }
  return lost('the answer belongs to another request');
}

/** An error without an id (a parse error has none) can only mean the one request of this exchange. */
function ownReply(message: RpcMessage & { readonly kind: 'reply' }, id: number): RpcReply | undefined {
  const isOwn = isIdOf(message.id, id) || (message.id === null && message.reply.kind === 'error');
  return isOwn ? message.reply : undefined;
}

function cancelled(requestId: number, reason: string): JsonObject {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } };
}

function textHeader(response: IncomingMessage, name: string): string | undefined {
  const value = response.headers[name];
  return typeof value === 'string' ? value : undefined;
}

function discard(sent: HttpExchange): void {
  if (sent.ok) leave(sent.response);
}

async function pause(retryMs: number | undefined, signal: AbortSignal): Promise<void> {
  const waitMs = Math.min(retryMs ?? RESUME_AFTER_MS, LONGEST_RESUME_WAIT_MS);
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}
