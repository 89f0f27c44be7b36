import { request as httpRequest } from 'node:http';
import type { Agent, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';

const LONGEST_DRAIN_MS = 1_000;

export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** false: a connection of its own, so that a stale pooled one cannot swallow the request. */
  readonly agent: Agent | false;
  readonly signal: AbortSignal;
}

/** `sent: false` proves that no byte of the request left: the connection never stood. */
export type HttpExchange =
  | { readonly ok: true; readonly response: IncomingMessage }
  | { readonly ok: false; readonly sent: boolean; readonly detail: string };

/**
 * One HTTP exchange up to the response's headers, without redirects and without retries. Not `fetch`: that one hides
 * whether a connection stood, picks pooled connections, and cuts a body that is silent for 300 s.
 */
export function exchange({ url, body, ...options }: HttpRequest): Promise<HttpExchange> {
  return new Promise((resolve) => {
    let sent = false;
    const start = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = start(url, options);
    outgoing.on('socket', (socket: Socket) => {
      if (outgoing.reusedSocket) sent = true;
      else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => (sent = true));
    });
    outgoing.on('response', (response) => resolve({ ok: true, response }));
    outgoing.on('error', (error) => resolve({ ok: false, sent, detail: connectionFault(error) }));
    outgoing.end(body);
  });
}

/** The fault of a connection in words; where several addresses were tried, the first one's. */
export function connectionFault(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0) {
    return connectionFault(error.errors[0]);
  }
  return 'message' in error ? String(error.message) : 'unknown';
}

/** The text of a body, or what is wrong with it. */
export type BodyText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly detail: string };

/** Reads a body as UTF-8 text of at most `maxBytes`; bytes that are no UTF-8 are an error, never replaced. */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<BodyText> {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let text = '';
    let bytes = 0;
    for await (const chunk of chunksOf(response)) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        response.destroy();
        return { ok: false, detail: `the answer is longer than ${maxBytes} bytes` };
      }
      text += decoder.decode(chunk, { stream: true });
    }
    return { ok: true, text: text + decoder.decode() };
  } catch (error) {
    return { ok: false, detail: bodyFault(error) };
  }
}

/** The chunks of a body; whoever stops early calls `leave`. An early end of the connection throws. */
export async function* chunksOf(response: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    if (Buffer.isBuffer(chunk)) yield chunk;
  }
}

/** Stops reading a body. A connection whose end follows at once may be used again; any other is closed. */
export function leave(response: IncomingMessage): void {
  const timer = setTimeout(() => response.destroy(), LONGEST_DRAIN_MS).unref();
  response.once('close', () => clearTimeout(timer));
  response.on('error', () => undefined).resume();
}

/** Why a body could not be read to its end. */
export function bodyFault(error: unknown): string {
  const isDecoding =
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  if (isDecoding) return 'the answer is not UTF-8 text';
  return `the connection broke in the middle of the answer (${connectionFault(error)})`;
}
