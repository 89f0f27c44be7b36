import type { ServerResponse } from 'node:http';

/** A request that is answered here, and by HTTP, because it never gets to a server. */
export interface Refusal {
  readonly status: 400 | 404 | 405 | 406 | 413 | 415 | 429 | 500 | 503;
  readonly code: number;
  readonly message: string;
  /** The id of the request as it was written; null where there is none that could be read. */
  readonly idText?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** JSON-RPC's code for what the server, and not the message, is the reason of. */
export const SERVER_ERROR = -32000;
const SESSION_UNKNOWN = -32001;
export const INVALID_REQUEST = -32600;
export const INTERNAL_ERROR = -32603;

/** The text of a JSON-RPC error under an id as it was written. */
export function errorText(idText: string, code: number, message: string): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify({ code, message })}}`;
}

/** The text of a JSON-RPC result under an id as it was written. */
export function resultText(idText: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}

export function refuse(res: ServerResponse, { status, code, message, idText = 'null', headers }: Refusal): void {
  if (res.headersSent || res.destroyed) return;
  const body = errorText(idText, code, message);
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  });
  res.end(body);
}

/** A session that is not known, or not this requester's: which of the two is nobody's to learn. */
export function unknownSession(): Refusal {
  return {
    status: 404,
    code: SESSION_UNKNOWN,
    message: 'This session is not known, or has ended: initialise again, without Mcp-Session-Id',
  };
}
