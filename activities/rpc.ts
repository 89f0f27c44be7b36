import { isJsonObject } from '../core/json';
import type { JsonObject, JsonValue } from '../core/json';

/** How one JSON-RPC request to a tool server ended. */
export type RpcReply =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly message: string;
      readonly httpStatus: number | null;
    }
  /** Proof that the server never took the request up: no connection, not admitted, no such address. */
  | { readonly kind: 'notDispatched'; readonly detail: string }
  /** The server does not know the session, so it took nothing up; a new session may. */
  | { readonly kind: 'sessionGone'; readonly detail: string }
  /** No answer that can be read, although the request may have been taken up; `timedOut`: this side stopped waiting. */
  | { readonly kind: 'lost'; readonly detail: string; readonly timedOut: boolean };

export interface RpcRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** True for what has no effect: it may be asked twice, and over a connection that has been idle. */
  readonly repeatable: boolean;
  /** Asked once a connection stands: true where that took so long that nothing may be sent any more. */
  readonly isLate?: (() => boolean) | undefined;
}

/** One connection to a tool server that carries raw JSON-RPC messages. */
export interface RpcConnection {
  /** True once no request can succeed on it any more. */
  readonly closed: boolean;
  request(request: RpcRequest): Promise<RpcReply>;
  notify(method: string): Promise<void>;
  /** States the revision that both sides agreed on; called once, after `initialize`. */
  useProtocol(version: string): void;
  close(): Promise<void>;
}

export type RpcMessage =
  | { readonly kind: 'reply'; readonly id: JsonValue; readonly reply: RpcReply }
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string }
  | { readonly kind: 'other' };

// A type and not an interface, so that it is a JSON object too.
export type RpcAnswer =
  | { jsonrpc: '2.0'; id: string | number; result: Record<string, never> }
  | { jsonrpc: '2.0'; id: string | number; error: { code: number; message: string } };

export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
} as const;

/** The value of a JSON text by `JSON.parse`, as any MCP client reads it; undefined where the text is no JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isParsedJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Types what a JSON parser returned: it yields nothing but JSON values. */
function isParsedJson(value: unknown): value is JsonValue {
  return value !== undefined;
}

/** Reads one message of the server. A reply without a result object or an error is `lost`: it proves nothing. */
export function readRpcMessage(value: JsonValue, httpStatus: number | null = null): RpcMessage {
  if (!isJsonObject(value)) return { kind: 'other' };
  const id = value['id'];
  const method = value['method'];
  if (typeof method === 'string') {
    return typeof id === 'string' || typeof id === 'number' ? { kind: 'request', id, method } : { kind: 'other' };
  }
  if (id === undefined && value['error'] === undefined) return { kind: 'other' };
  return { kind: 'reply', id: id ?? null, reply: readReply(value, httpStatus) };
}

function readReply(message: JsonObject, httpStatus: number | null): RpcReply {
  const { result, error } = message;
  if (result !== undefined && error === undefined && isJsonObject(result)) return { kind: 'result', result };
  if (error !== undefined && isJsonObject(error) && typeof error['code'] === 'number') {
    const text = typeof error['message'] === 'string' ? error['message'] : '';
    return { kind: 'error', code: error['code'], message: text, httpStatus };
  }
  return lost('the answer is neither a result nor an error');
}

/**
 * What is answered to a server that asks its client for something. Only a ping is served: whatever else it asks
 * (sampling, elicitation, roots) would bring what nobody approved into an approved call.
 */
export function answerToServer({ id, method }: RpcMessage & { readonly kind: 'request' }): RpcAnswer {
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
  const error = { code: RPC_ERROR.methodNotFound, message: `This client does not serve ${method}` };
  return { jsonrpc: '2.0', id, error };
}

/** A reply for a request whose answer cannot be had any more. */
export function lost(detail: string, timedOut = false): RpcReply {
  return { kind: 'lost', detail, timedOut };
}

/** Tells whether a reply's id is the one that was sent; some servers send a number back as text. */
export function isIdOf(id: JsonValue, sent: number): boolean {
  return id === sent || id === String(sent);
}
