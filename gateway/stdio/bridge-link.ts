import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { readEvents } from '../../activities/event-stream';
import type { StreamEnd } from '../../activities/event-stream';
import { exchange, leave, readBody } from '../../activities/http-exchange';
import type { HttpExchange } from '../../activities/http-exchange';
import type { JsonValue } from '../../core/json';
import type { TraceContext } from '../../tracing/span';
import { MAX_LINE_BYTES } from './server-process';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
const DELETE_MS = 2_000;

export interface BridgeLinkOptions {
  readonly url: URL;
  readonly token: string;
  /** Aborted when all is over. */
  readonly signal: AbortSignal;
}

export interface Posting {
  readonly sessionId?: string | undefined;
  readonly stateless?: Readonly<Record<string, string>> | null;
  /** In the place of the link's own. */
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
}

/** How a response ended, or that `take` had enough of it. */
type End = Pick<StreamEnd, 'complete' | 'detail'>;

/** The HTTP side of the bridge: one session at the gateway. */
export class BridgeLink {
  readonly url: URL;
  sessionId: string | undefined;
  private revision: string | undefined;
  private readonly token: string;
  private readonly signal: AbortSignal;

  constructor({ url, token, signal }: BridgeLinkOptions) {
    this.url = url;
    this.token = token;
    this.signal = signal;
    // One listener for each request in flight, which Node would take for a leak from the eleventh on.
    setMaxListeners(0, signal);
  }

  /** Keeps what both sides agreed on in `initialize`. */
  agree(sessionId: string | string[] | undefined, revision: JsonValue | undefined): void {
    this.sessionId = Array.isArray(sessionId) ? sessionId.join() : sessionId;
    this.revision = typeof revision === 'string' ? revision : undefined;
  }

  /** Sends one message, once, on a connection of its own: a stale pooled one could swallow it. */
  post(body: string, { sessionId, stateless, signal = this.signal, trace }: Posting = {}): Promise<HttpExchange> {
    const headers = this.headers(sessionId, {
      ...stateless,
      ...trace,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    });
    return exchange({ url: this.url, method: 'POST', headers, body, agent: false, signal });
  }

  /** Gives every message of a response to `take`, until that returns true or there is none any more. */
  async read(response: IncomingMessage, take: (message: string) => boolean): Promise<End> {
    const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
    if (type === 'text/event-stream') return this.readStream(response, take);
    const body = await readBody(response, MAX_LINE_BYTES);
    if (!body.ok) return { complete: false, detail: body.detail };
    if (body.text.trim() !== '') take(body.text);
    return { complete: true, detail: 'the response holds none' };
  }

  /** Hears what belongs to no request until the session is another one, or the gateway has no such stream. */
  async listen(take: (message: string) => void): Promise<void> {
    const { sessionId } = this;
    const headers = this.headers(sessionId, { Accept: 'text/event-stream' });
    for (let failures = 0; sessionId === this.sessionId && !this.signal.aborted; failures += 1) {
      if (failures > 0) await this.pause(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS));
      const got = await exchange({ url: this.url, method: 'GET', headers, agent: false, signal: this.signal });
      if (!got.ok) continue;
      const status = got.response.statusCode ?? 0;
      if (status !== 200) leave(got.response);
      if (status >= 400 && status < 500 && status !== 429) return;
      if (status !== 200) continue;
      failures = 0;
      await this.readStream(got.response, (message) => {
        take(message);
        return false;
      });
    }
  }

  /** Ends the session at the gateway. */
  async end(): Promise<void> {
    if (this.sessionId === undefined) return;
    const headers = this.headers(this.sessionId, {});
    const signal = AbortSignal.timeout(DELETE_MS);
    const deleted = await exchange({ url: this.url, method: 'DELETE', headers, agent: false, signal });
    if (deleted.ok) leave(deleted.response);
  }

  /** A stream that carried an event id is resumed: that asks for the answer again, never for the call. */
  private async readStream(first: IncomingMessage, take: (message: string) => boolean): Promise<End> {
    let response = first;
    let lastEventId: string | undefined;
    for (;;) {
      const end = await readEvents(response, MAX_LINE_BYTES, ({ id, data }) => {
        lastEventId = id ?? lastEventId;
        return data !== '' && take(data);
      });
      if (end === undefined) return { complete: true, detail: 'it was read' };
      if (lastEventId === undefined || this.signal.aborted) return end;
      await this.pause(end.retryMs ?? FIRST_RETRY_MS);
      const resumed = await this.resume(lastEventId);
      if (resumed === undefined) return end;
      response = resumed;
    }
  }

  private async resume(lastEventId: string): Promise<IncomingMessage | undefined> {
    const headers = this.headers(this.sessionId, { Accept: 'text/event-stream', 'Last-Event-ID': lastEventId });
    const got = await exchange({ url: this.url, method: 'GET', headers, agent: false, signal: this.signal });
    if (!got.ok) return undefined;
    if (got.response.statusCode === 200) return got.response;
    leave(got.response);
    return undefined;
  }

  private headers(
    sessionId: string | undefined,
    more: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>> {
    return {
      Authorization: `Bearer ${this.token}`,
      ...(sessionId !== undefined && { 'Mcp-Session-Id': sessionId }),
      ...(sessionId !== undefined && this.revision !== undefined && { 'MCP-Protocol-Version': this.revision }),
      ...more,
    };
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
  }
}
