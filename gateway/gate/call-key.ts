import { keyedToken } from '../../core/digest';
import type { JsonObject, JsonValue } from '../../core/json';
import type { Requester } from '../../core/requester';

/** Everything that makes two calls of a client the same call. */
export interface IdenticalCall {
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The caller's own key; null where it gave none, and then identical calls mean one operation. */
  readonly ownKey: string | null;
  /** The client's session where the call runs on it, and what a client answers a server's question with. */
  readonly bound: JsonValue;
}

/**
 * The key under which identical calls meet. All arguments count, not only the bound ones. Keyed, so that nobody who
 * reads the ledger can test a guess at the arguments.
 */
export function callKey(secretsKey: Uint8Array, call: IdenticalCall): string {
  const { requester, server, tool, arguments: given, ownKey, bound } = call;
  const { subject, agent, chain } = requester;
  const parts = { subject, agent, chain, server, tool, arguments: given, ownKey, bound };
  return keyedToken(secretsKey, ['holdpoint/gateway-call/1', parts]).slice('secret:'.length);
}
