import { parseJson } from '../../activities/rpc';
import { isJsonObject } from '../../core/json';
import type { JsonObject, JsonValue } from '../../core/json';

/** A line of a server, as far as it has to be understood to know whom it is for. */
export type ServerMessage =
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'reply'; readonly id: JsonValue; readonly value: JsonObject }
  /** Not a message of JSON-RPC: some servers log to their output. */
  | { readonly kind: 'noise' };

/** Reads a line by `JSON.parse`, as any client does: what a server may send is not for the gateway to judge. */
export function readServerMessage(line: string): ServerMessage {
  const value = parseJson(line);
  if (value === undefined || !isJsonObject(value)) return { kind: 'noise' };
  const { id, method, params } = value;
  if (typeof method === 'string') {
    if (typeof id === 'string' || typeof id === 'number') return { kind: 'request', id, method };
    return { kind: 'notification', method, params: objectOr(params) };
  }
  if (id === undefined || (value['result'] === undefined && value['error'] === undefined)) return { kind: 'noise' };
  return { kind: 'reply', id, value };
}

/** A token or id in a message; undefined where it is neither text nor number. */
export function tokenOf(value: JsonValue | undefined): string | number | undefined {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

/** The object that a value is, or an empty one. */
export function objectOr(value: JsonValue | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}
