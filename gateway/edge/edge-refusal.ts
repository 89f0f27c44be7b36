import type { IncomingMessage, ServerResponse } from 'node:http';

/** How the edge answers a request that goes no further. */
export interface EdgeRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the JSON-RPC error. */
  readonly code: number;
  /** The rule, and what to do; never a value of the request. */
  readonly message: string;
}

/** The JSON-RPC code of what HTTP refuses. */
const REFUSED = -32000;

const LONGEST_DRAIN_MS = 1_000;
const SMALL_BODY_BYTES = 65_536;

export function refusalOf(status: number, message: string, more: Partial<EdgeRefusal> = {}): EdgeRefusal {
  return { status, message, headers: {}, code: REFUSED, ...more };
}

/**
 * Answers with a JSON-RPC error, without an id unless one is given: what was asked was not read yet (MCP 2025-11-25,
 * transports).
 */
export function answerRefusal(
  { req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse },
  { status, headers, code, message }: EdgeRefusal,
  id?: string | number | null,
): void {
  const error = { code, message };
  const body = JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error });
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
