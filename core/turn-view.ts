import type { CallState } from './call-state';
import type { Refusal } from './errors';
import type { CallOutcome } from './outcome';
import type { ApprovalRequest } from './request';

/** One thing that happened in a turn, numbered from 1 in the order in which the turn learnt of it. */
export type TurnEvent = { readonly number: number; readonly atMs: number } & TurnEventBody;

export type TurnEventBody =
  | { readonly type: 'proposed'; readonly callId: string; readonly operationId: string }
  | {
      readonly type: 'approvalRequired';
      readonly callId: string;
      readonly operationId: string;
      readonly request: ApprovalRequest;
    }
  | { readonly type: 'escalated'; readonly callId: string; readonly operationId: string; readonly level: number }
  | { readonly type: 'allowed'; readonly callId: string; readonly operationId: string; readonly revision: number }
  | { readonly type: 'outcomePending'; readonly callId: string; readonly operationId: string }
  /** A result in `end` is only named here: the turn's results have it. */
  | { readonly type: 'ended'; readonly callId: string; readonly operationId: string; readonly end: CallOutcome };

/** One call as a turn shows it. */
export interface CallView {
  readonly callId: string;
  readonly operationId: string;
  readonly server: string;
  readonly tool: string;
  readonly state: CallState;
}

/** Where a turn stands. `requiredActions` are the requests that wait for people. */
export interface TurnSnapshot {
  readonly v: 1;
  readonly turnId: string;
  readonly workflowId: string;
  /** Digest of the turn's input: a start with other content under the same id is a conflict. */
  readonly contentDigest: string;
  readonly opened: boolean;
  readonly calls: readonly CallView[];
  readonly requiredActions: readonly ApprovalRequest[];
  readonly events: readonly TurnEvent[];
  /** Messages that were not understood: broken payloads, unknown names. */
  readonly ignored: number;
  /** Set where the whole turn was refused. */
  readonly refusal: Refusal | null;
}

/** How one call ended; a turn's results are in call order, one each. */
export interface CallResult {
  readonly callId: string;
  readonly operationId: string;
  readonly server: string;
  readonly tool: string;
  readonly end: CallOutcome;
}
