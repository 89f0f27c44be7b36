import type { RpcReply, RpcRequest } from '../activities/rpc';
import type { JsonObject, JsonValue } from '../core/json';
import type { Requester } from '../core/requester';
import type { TraceContext } from '../tracing/span';

/** One JSON-RPC message of a client, read strictly from its raw text. */
export interface ClientMessage {
  /** The message as the client wrote it: what is passed on is passed on to the byte. */
  readonly text: string;
  readonly kind: 'request' | 'notification' | 'reply';
  /** Null for a notification. An answer carries it as it stands here, so that numbers and texts stay what they were. */
  readonly id: string | number | null;
  /** Null for a reply. */
  readonly method: string | null;
  /** `params` of a request or notification, or the `result` of a reply; empty where there is none. */
  readonly params: JsonObject;
}

/** A client's own session at its upstream, as the gate uses it: to list tools, and to run a call that was allowed. */
export interface ClientSession {
  /** The name of the server in the policy. */
  readonly server: string;
  readonly requester: Requester;
  /** `clientInfo.name`; null where the client gave none. */
  readonly clientName: string | null;
  /** The revision of MCP that the client speaks here, such as `2025-11-25`; null where nothing was agreed on. */
  readonly revision: string | null;
  /** The roots that the client last named; null where it named none. They decide what a stateful server lets a tool do. */
  readonly roots: JsonValue;
  /** Sessions with the same profile are shown the same tools; left out where each session stands for itself. */
  readonly profile?: object;
  /** Asks the upstream on this very session, under an id of the gateway's own. */
  request(request: RpcRequest): Promise<RpcReply>;
}

/** A client's tools/call, as it came. */
export interface IncomingCall {
  readonly session: ClientSession;
  readonly message: ClientMessage;
  /** Aborts when the client has left or cancelled this call. */
  readonly signal: AbortSignal;
  /** The place in a trace that its HTTP request names; nothing of it goes to the tool. */
  readonly trace?: TraceContext;
  /** Writes a notification on the stream of this call, before its answer; left out where the client takes none there. */
  readonly notify?: (method: string, params: JsonObject) => void;
}

/**
 * What the gate says of a call. `pass`: nobody asks, so it goes upstream to the byte. `result`: this is the answer, a
 * CallToolResult, or whatever result the method has; `delivered` is called once it was written to an open stream.
 * `error`: a JSON-RPC error.
 */
export type GateAnswer =
  | { readonly kind: 'pass' }
  | { readonly kind: 'result'; readonly result: JsonObject; readonly delivered: () => void }
  | { readonly kind: 'error'; readonly error: { readonly code: number; readonly message: string } };

/** The gate as the edges use it. It never throws: what fails is an answer that says that nothing was executed. */
export interface Gate {
  /** Judges a `tools/call`, and every other request that may concern a call held here (tasks). */
  judge(call: IncomingCall): Promise<GateAnswer>;
  /**
   * The text of an answer to `tools/list` as the client is to see it; the same text where nothing has to be changed.
   * @param text the whole JSON-RPC response of the upstream.
   */
  showList(session: ClientSession, text: string): Promise<string>;
  /**
   * The text of an upstream's answer to a call that passed, as the client is to see it: without what only a gateway may
   * say of a call; all else to the byte.
   */
  showAnswer(text: string): string;
}
