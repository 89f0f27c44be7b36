import type { IncomingMessage, ServerResponse } from 'node:http';
import { RPC_ERROR } from '../../activities/rpc';

/** JSON-RPC's code for what the server, and not the message, is the reason of. */
export const SERVER_ERROR = -32000;
const SESSION_UNKNOWN = -32001;
export const PARSE_ERROR = RPC_ERROR.parse;
export const INVALID_REQUEST = RPC_ERROR.invalidRequest;
export const METHOD_NOT_FOUND = RPC_ERROR.methodNotFound;
export const INVALID_PARAMS = RPC_ERROR.invalidParams;
export const INTERNAL_ERROR = RPC_ERROR.internal;

const LONGEST_DRAIN_MS = 1_000;
const SMALL_BODY_BYTES = 65_536;

/** A request that is answered here, and by HTTP, because it goes no further. */
export interface Refusal {
  readonly status: number;
  /** Of the JSON-RPC error. */
  readonly code: number;
  /** The rule, and what to do; never a value of the request. */
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The id of the request as it was written, `null` for one that could not be read; left out of the error where it is
   * left out here: what was asked was not read yet (MCP 2025-11-25, transports).
   */
  readonly idText?: string;
}

export function refusalOf(status: number, message: string, more: Partial<Refusal> = {}): Refusal {
  return { status, message, code: SERVER_ERROR, ...more };
}

/** A session that is not known, or not this requester's: which of the two is nobody's to learn. */
export function unknownSession(): Refusal {
  const message = 'This session is not known, or has ended: initialise again, without Mcp-Session-Id';
  return refusalOf(404, message, { code: SESSION_UNKNOWN, idText: 'null' });
}

/** The text of a JSON-RPC error under an id as it was written. */
export function errorText(idText: string | undefined, code: number, message: string): string {
  const id = idText === undefined ? '' : `"id":${idText},`;
  return `{"jsonrpc":"2.0",${id}"error":${JSON.stringify({ code, message })}}`;
}

/** The text of a JSON-RPC result under an id as it was written. */
export function resultText(idText: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}

/** Answers a request with a refusal, once. */
export function refuse(res: ServerResponse, { status, code, message, idText, headers }: Refusal): void {
  if (res.headersSent || res.destroyed) return;
  const { req } = res;
  const body = errorText(idText, code, message);
  const isShort = req.complete || declaredBytes(req) <= SMALL_BODY_BYTES;
  res.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(isShort ? {} : { connection: 'close' }),
  });
  if (isShort) {
    res.end(body);
    req.resume();
    return;
  }
  res.write(body);
  endOnceRead(req, res);
}

/** A connection that is closed while the client still writes may cost it the answer. */
function endOnceRead(req: IncomingMessage, res: ServerResponse): void {
  const end = (): void => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, LONGEST_DRAIN_MS).unref();
  req
    .on('error', () => undefined)
    .once('close', end)
    .once('end', end)
    .resume();
}

function declaredBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}
