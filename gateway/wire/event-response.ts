import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { onOneLine } from './raw-json';

/** What a client that does not read may leave in this process before its stream is cut. */
const MAX_UNREAD_BYTES = 64 * 1_024 * 1_024;

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

export interface EventResponseOptions {
  readonly res: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * One response to a client: plain JSON where the answer is all there is to say, server-sent events from the first other
 * message on. Every event is written at once and as the server wrote it.
 */
export class EventResponse {
  private readonly res: ServerResponse;
  private readonly headers: Readonly<Record<string, string>>;
  private opening: NodeJS.Timeout | undefined;

  constructor({ res, headers }: EventResponseOptions) {
    this.res = res;
    this.headers = headers;
    res.on('error', () => undefined);
    res.on('close', () => clearTimeout(this.opening));
  }

  /** The headers of the request that this answers. */
  get requestHeaders(): IncomingHttpHeaders {
    return this.res.req.headers;
  }

  /** False once nothing can reach the client on it any more. */
  get isOpen(): boolean {
    const { res } = this;
    return !res.writableEnded && !res.destroyed && res.socket?.destroyed !== true;
  }

  /** Calls `left` where the response closes before it was finished. */
  onLeft(left: () => void): void {
    this.res.on('close', () => {
      if (!this.res.writableFinished) left();
    });
  }

  /** Makes it a stream after a while, so that the client and all between see a sign of life. */
  openWithin(ms: number): void {
    this.opening = setTimeout(() => this.open(), ms).unref();
  }

  /** Makes it a stream now. */
  open(): void {
    clearTimeout(this.opening);
    if (!this.isOpen || this.res.headersSent) return;
    this.res.writeHead(200, { ...STREAM_HEADERS, ...this.headers });
    this.res.flushHeaders();
  }

  event(message: string): void {
    this.open();
    if (!this.isOpen) return;
    if (this.res.writableLength > MAX_UNREAD_BYTES) this.res.destroy();
    else this.res.write(eventOf(message));
  }

  keepAlive(): void {
    if (this.isOpen && this.res.headersSent) this.res.write(': still here\n\n');
  }

  /**
   * The last message; `status` is for one that is plain JSON. True where it was handed over whole to a connection that
   * still stood.
   */
  answer(message: string, status = 200): Promise<boolean> {
    clearTimeout(this.opening);
    if (!this.isOpen) return Promise.resolve(false);
    const { res } = this;
    // Once the response is finished it has no socket any more that could be asked.
    const { socket } = res;
    const written = new Promise<boolean>((resolve) => {
      res.once('finish', () => resolve(socket?.destroyed === false));
      res.once('close', () => resolve(false));
    });
    if (res.headersSent) res.end(eventOf(message));
    else endJson(res, message, { status, headers: this.headers });
    return written;
  }

  /** Ends it without an answer. */
  end(): void {
    this.open();
    if (this.isOpen) this.res.end();
  }
}

function eventOf(message: string): string {
  return `event: message\ndata: ${onOneLine(message)}\n\n`;
}

function endJson(
  res: ServerResponse,
  message: string,
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): void {
  const length = String(Buffer.byteLength(message));
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': length, ...headers });
  res.end(message);
}
