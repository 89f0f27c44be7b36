import { digestOf } from './digest';
import type { JsonObject, JsonValue } from './json';
import { jsonOf } from './json-record';
import type { Requester } from './requester';

/** Limits of a turn. Sizes are UTF-8 bytes of canonical JSON. */
export const TURN_LIMITS = {
  calls: 50,
  argumentBytes: 262_144,
  decisionBytes: 65_536,
  judgedDecisions: 200,
  /** Of all results that a turn carries itself; each call has its share, a longer result stays in the ledger. */
  resultBytesInHistory: 1_048_576,
  /** Of all cards that a turn opens together: they travel in one message, of which Temporal takes 2 MB. */
  cardBytes: 1_310_720,
  resultBytes: 33_554_432,
  /** Of one human, through whatever agents. */
  openRequestsPerRequester: 10,
  revisions: 3,
  idLength: 200,
} as const;

/** How long a result may be that travels with its turn, of one of `calls` calls. */
export function resultShare(calls: number): number {
  return Math.floor(TURN_LIMITS.resultBytesInHistory / Math.max(calls, 1));
}

/** One tool invocation that a model proposed. `note` is the model's own words: shown last, labelled, never a fact. */
export interface ProposedCall {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The runtime's own question to the requester's human; it can only add a question. */
  readonly confirm?: boolean;
  readonly note?: string;
  readonly context?: CallContext;
}

/** What a gateway knows of a call beside its arguments. */
export interface CallContext {
  /** The kind and the roots of the client's own session, on which the call will run: bound, like its arguments. */
  readonly session?: JsonValue;
  /** A checkpoint that another harness says it has taken: a fact on the card, never an approval. */
  readonly checkpoint?: JsonValue;
}

/** The input of workflow `agentTurn`: the calls that a model proposed together. */
export interface TurnInput {
  readonly v: 1;
  readonly turnId: string;
  readonly requester: Requester;
  readonly calls: readonly ProposedCall[];
  /** True: what is allowed runs only where somebody is there to take the result, who says so by `collect`. */
  readonly collected?: boolean;
}

/** Who collects: the task queue of a gateway that holds the caller. */
export interface Collector {
  readonly taskQueue: string;
}

/**
 * Digest of a turn's whole content: the same turn id with another digest is TURN_CONFLICT. Optional fields that are left
 * out count as left out. A content that has no canonical JSON has the digest `none`, which equals no stored turn's.
 */
export function turnDigest(input: unknown): string {
  try {
    return typeof input === 'object' && input !== null ? digestOf(['holdpoint/turn/1', jsonOf(input)]) : 'none';
  } catch {
    return 'none';
  }
}

/** The workflow id of a turn: readable, and another requester's turn of the same name has another one. */
export function turnWorkflowId(subject: string, turnId: string): string {
  return `${turnId}~${digestOf(['holdpoint/turn-id/1', subject, turnId]).slice(7, 19)}`;
}
