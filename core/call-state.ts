import type { ApprovalRequest } from './request';
import { withResultUpTo, type CallOutcome } from './outcome';

/**
 * The state of a call as the ledger answers it to the turn. The ledger row decides; a turn only holds its latest answer.
 * `allowed` may run now; `dispatched` was sent and its outcome is not known yet.
 */
export type CallState =
  | { readonly status: 'proposed' }
  | { readonly status: 'pending'; readonly request: ApprovalRequest; readonly level: number; readonly dueAtMs: number }
  | { readonly status: 'allowed'; readonly revision: number }
  | { readonly status: 'dispatched'; readonly lookUpAtMs: number }
  | { readonly status: 'ended'; readonly end: CallOutcome };

/** The same state, but a result longer than `maxBytes` is only named. */
export function withResultInStateUpTo(state: CallState, maxBytes: number): CallState {
  return state.status === 'ended' ? { ...state, end: withResultUpTo(state.end, maxBytes) } : state;
}

/** A request as a turn knows it. */
export interface KnownRequest {
  readonly operationId: string;
  readonly revision: number;
}

/**
 * What the ledger tells a turn of a request that the turn knows already: null where nothing is on record, and nothing
 * but its times where it still waits, since whatever is told comes again with each wake and stays in the history.
 */
export type Progress =
  CallState | { readonly status: 'waiting'; readonly level: number; readonly dueAtMs: number } | null;

/** The state of a call for a turn that knows `revision` of its request; a result is only named. */
export function progressSince(state: CallState | null, revision: number): Progress {
  if (state === null) return null;
  if (state.status !== 'pending' || state.request.revision !== revision) return withResultInStateUpTo(state, 0);
  return { status: 'waiting', level: state.level, dueAtMs: state.dueAtMs };
}
