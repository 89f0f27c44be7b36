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
