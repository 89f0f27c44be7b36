import type { ApprovalRequest } from '../../core/request';
import type { Requester } from '../../core/requester';
import type { OperationRecord } from '../../ledger/queries';
import type { ClosedState } from './closed-state';
import type { EmergencyFacts } from './stored-event';

/** How it ended for the requester. */
export type OutcomeState = Exclude<ClosedState, 'allowed'> | Exclude<OperationRecord['state'], 'dispatched'>;

/** The call that a notice is about. */
export interface ToldCall {
  readonly operationId: string;
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
}

/** What happened, as far as a notice tells it. A call that a window covered may have no request of its own. */
export type Told =
  | {
      readonly kind: 'opened' | 'escalated' | 'reminder';
      readonly call: ToldCall;
      readonly request: ApprovalRequest;
      readonly level: number;
    }
  | {
      readonly kind: 'closed';
      readonly call: ToldCall;
      readonly request: ApprovalRequest;
      readonly level: number;
      readonly state: ClosedState;
      readonly reason: string | null;
    }
  | {
      readonly kind: 'outcome';
      readonly call: ToldCall;
      readonly request: ApprovalRequest | null;
      readonly state: OutcomeState;
      readonly reason: string | null;
      /** The tool itself answered with an error. */
      readonly isError: boolean;
    }
  /** Somebody allowed under an emergency rule, or the review of that is due soon; those who were skipped are told. */
  | {
      readonly kind: 'emergency' | 'reviewDue';
      readonly call: ToldCall;
      readonly request: ApprovalRequest;
      readonly emergency: EmergencyFacts;
    }
  /** Nobody can tell what became of an operation, or it was established after all. */
  | { readonly kind: 'unknown'; readonly call: ToldCall; readonly request: ApprovalRequest | null }
  | {
      readonly kind: 'found';
      readonly call: ToldCall;
      readonly request: ApprovalRequest | null;
      readonly state: 'executed' | 'failed';
    };

/** The call of a request, or of an operation, whose row knows no links of a chain. */
export function toldCall(source: ApprovalRequest | OperationRecord): ToldCall {
  const { operationId, server, tool } = source;
  return { operationId, requester: { chain: [], ...source.requester }, server, tool };
}
