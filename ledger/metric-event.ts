/** What a request belongs to, in names of the policy. `rule` is null where the runtime itself asked (`confirm`). */
export interface RequestPlace {
  readonly rule: string | null;
  readonly server: string;
  readonly tool: string;
}

type OperationPlace = Omit<RequestPlace, 'rule'>;

/** How a request was closed. What was allowed may be withdrawn or refused after that, and then counts as that too. */
export const REQUEST_ENDS = ['allowed', 'denied', 'expired', 'withdrawn', 'refused'] as const;

/** How a sent operation ended, as it was recorded; `executedWithError`: the tool itself answered with an error. */
export const OPERATION_ENDS = ['executed', 'executedWithError', 'failed', 'unknown'] as const;

/** What a look-up found out; one that found nothing out leaves the outcome unknown. */
export const LOOK_UP_ENDS = ['executed', 'failed', 'absent'] as const;

type RequestEvent =
  /** `repeated`: the same binding was asked about within the day before; `afterDenial`: and was denied within it. */
  | { readonly type: 'opened'; readonly cause: string; readonly repeated: boolean; readonly afterDenial: boolean }
  | { readonly type: 'closed'; readonly end: (typeof REQUEST_ENDS)[number] }
  | { readonly type: 'escalated' }
  /** Allowed under an emergency rule; `rule` is the one whose approvers were skipped. */
  | { readonly type: 'emergency' }
  | { readonly type: 'stale'; readonly cause: string }
  /** A decision that counts; `waitMs` from the opening of its request. */
  | {
      readonly type: 'decided';
      readonly answer: 'allow' | 'deny';
      readonly channel: string;
      readonly reviewer: string;
      readonly waitMs: number;
    };

type OperationEvent =
  | { readonly type: 'sent' }
  /** `approved`: people had allowed it. */
  | { readonly type: 'ended'; readonly end: (typeof OPERATION_ENDS)[number]; readonly approved: boolean }
  /** Somebody reported that the effect was undone. */
  | { readonly type: 'reversed' }
  | { readonly type: 'settled'; readonly end: 'executed' | 'failed' }
  | { readonly type: 'lookedUp'; readonly end: (typeof LOOK_UP_ENDS)[number] };

type CallEvent =
  /** A decision that does not count; `cause` is the code of its verdict. */
  | { readonly type: 'notCounted'; readonly cause: string }
  /** A call that access, policy, schema or a limit refused; `cause` is the code. */
  | { readonly type: 'callRefused'; readonly cause: string }
  /** Somebody looked at a sampled decision again, and would have given the same answer or another. */
  | { readonly type: 'secondReview'; readonly agrees: boolean }
  /** A call of a turn about which nobody had to be asked. */
  | { readonly type: 'notAsked'; readonly cause: 'noRule' | 'grant' };

/** One thing that is counted, read from one fact of the audit. It names nobody but the reviewer of a decision. */
export type MetricEvent = { readonly atMs: number } & (
  (RequestPlace & RequestEvent) | (OperationPlace & OperationEvent) | CallEvent
);
