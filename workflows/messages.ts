import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Verdict } from '../core/decision';
import type { PackedSnapshot } from '../core/turn-packing';

/**
 * A reviewer's decision, as update (answers the verdict) and as signal (for those who cannot wait): one code path. The
 * message is core's Decision, at most 64 KiB; anything else gets the verdict `malformed` or `tooLarge` and is recorded.
 */
export const decideUpdate = defineUpdate<Verdict, [unknown]>('decide');
export const decideSignal = defineSignal<[unknown]>('decide');

/** The requester takes calls back: `{ callId?: string, reason?: string }`; without a call id, all that were not sent. */
export const withdrawSignal = defineSignal<[unknown]>('withdraw');

/** Answers once every call of the turn is on record; used with update-with-start. */
export const openedUpdate = defineUpdate<PackedSnapshot>('opened');

/**
 * Somebody is there to take the results of a turn that is collected: core's Collector. Answers as `opened` does. What is
 * allowed runs on that task queue, until it is found that nobody is there any more.
 */
export const collectUpdate = defineUpdate<PackedSnapshot, [unknown]>('collect');

/** Where the turn stands: calls, states, open requests, events. */
export const snapshotQuery = defineQuery<PackedSnapshot>('snapshot');

/** Tells a waiting turn to read its rows again: sent by the sweeper when the ledger knows more than the turn. */
export const nudgeSignal = defineSignal('nudge');

/** The workflow type of a turn. */
export const AGENT_TURN = 'agentTurn';

/** The task queue on which turns run unless told otherwise. */
export const TASK_QUEUE = 'holdpoint';

/** The workflow type that judges a decision for a turn that has ended, so that it gets its verdict and is recorded. */
export const LATE_DECISION = 'lateDecision';

/** The workflow type that reads one chunk of a result, or of a request's card, that was too large to travel. */
export const READ_RESULT = 'readResult';

/**
 * `subject` must be the operation's requester; with a `revision` the card of that revision is read instead of the
 * result. `offset` counts UTF-16 units of the JSON text.
 */
export interface ReadResult {
  readonly operationId: string;
  readonly revision?: number;
  readonly subject: string;
  readonly offset: number;
}

/** `next` is the offset of the next chunk; null at the end. */
export interface ResultChunk {
  readonly text: string;
  readonly next: number | null;
}

/** The header of Temporal's own OpenTelemetry interceptors: the place of a turn in a trace, as W3C Trace Context. */
export const TRACE_HEADER = '_tracer-data';
