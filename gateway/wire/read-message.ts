import { isJsonArray, isJsonObject, parseStrictJson } from '../../core/json';
import type { JsonValue } from '../../core/json';
import type { ClientMessage } from '../ports';
import { INVALID_REQUEST, PARSE_ERROR } from './refusal';
import { objectOr } from './server-message';

/** Bytes of one message. Arguments of a protected call have a limit of their own. */
export const MAX_MESSAGE_BYTES = 4 * 1_024 * 1_024;

/** `code` is JSON-RPC's; `detail` names the rule, never a value. */
export type ReadMessage =
  | { readonly ok: true; readonly message: ClientMessage }
  | { readonly ok: false; readonly code: number; readonly detail: string };

/**
 * Reads one JSON-RPC message on its raw text, so that the gate and the upstream cannot read it differently: what two
 * readers could take for two things (a name twice, a number that is rounded, half a character) is refused, and so is a
 * batch, of which one part could hide behind another (MCP has none since 2025-06-18).
 */
export function readMessage(text: string): ReadMessage {
  const parsed = parseStrictJson(text, { maxBytes: MAX_MESSAGE_BYTES });
  if (!parsed.ok)
    return { ok: false, code: parsed.code === 'JSON_SYNTAX' ? PARSE_ERROR : INVALID_REQUEST, detail: parsed.detail };
  const { value } = parsed;
  if (isJsonArray(value)) return invalid('A batch is not taken: send each message by itself');
  if (!isJsonObject(value)) return invalid('A JSON-RPC message is an object');
  if (value['jsonrpc'] !== '2.0') return invalid('A message says "jsonrpc": "2.0"');
  const { method, id } = value;
  if (method !== undefined && typeof method !== 'string') return invalid('A method is a string');
  if (id !== undefined && !isId(id)) return invalid('An id is a string or an integer');
  if (method === undefined) {
    if (id === undefined) return invalid('A message has a method, or an id and a result or error');
    return read(text, { kind: 'reply', id, method: null, params: objectOr(value['result']) });
  }
  const { params } = value;
  if (params !== undefined && !isJsonObject(params)) return invalid('The params of a method are an object');
  const kind = id === undefined ? 'notification' : 'request';
  // JSON-RPC lets a server carry out a notification, and nobody is asked about one.
  if (kind === 'notification' && isGated(method)) return invalid(`${method} is a request: send it with an id`);
  return read(text, { kind, id: id ?? null, method, params: params ?? {} });
}

/** Whether a method runs a tool, or concerns a call that may be held here. */
export function isGated(method: string | null): boolean {
  return method === 'tools/call' || method?.startsWith('tasks/') === true;
}

function read(text: string, rest: Omit<ClientMessage, 'text'>): ReadMessage {
  return { ok: true, message: { text, ...rest } };
}

function invalid(detail: string): ReadMessage {
  return { ok: false, code: INVALID_REQUEST, detail };
}

function isId(id: JsonValue): id is string | number {
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id));
}
