import { parseJson } from '../../activities/rpc';
import { isJsonObject } from '../../core/json';
import type { JsonObject } from '../../core/json';
import { statelessHeaders, statelessSender } from '../wire/stateless';
import { objectOr, readServerMessage, tokenOf } from '../wire/server-message';

/** A line of a client on stdio, read only as far as it takes to carry it. */
export interface BridgeLine {
  readonly text: string;
  /** Null where it is no request: nobody waits for an answer then. */
  readonly id: string | number | null;
  readonly method: string | null;
  readonly params: JsonObject;
  /** What a message without a session repeats in its headers; null for one that belongs to a session. */
  readonly stateless: Readonly<Record<string, string>> | null;
}

/** Undefined where the line is no JSON object. */
export function readBridgeLine(text: string): BridgeLine | undefined {
  const value = parseJson(text);
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { method } = value;
  if (typeof method !== 'string') return { text, id: null, method: null, params: {}, stateless: null };
  const id = tokenOf(value['id']) ?? null;
  const params = objectOr(value['params']);
  const sender = statelessSender({ text, id, method, params, kind: id === null ? 'notification' : 'request' });
  const stateless = sender === null ? null : { 'MCP-Protocol-Version': sender.revision, ...statelessHeaders(value) };
  return { text, id, method, params, stateless };
}

/** What a message of the server is for a request of this id: its answer, or something else. */
export function answerOf(message: string, id: string | number): JsonObject | undefined {
  const read = readServerMessage(message);
  if (read.kind !== 'reply') return undefined;
  // Some servers send a number back as text, and clients take that.
  return String(tokenOf(read.id)) === String(id) ? read.value : undefined;
}
