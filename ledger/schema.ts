import type { Generated, Selectable } from 'kysely';

/** Versions of the policy; at most one row has `active` = 1. `compiled` is the canonical JSON of core's Policy. */
export interface PoliciesTable {
  readonly version: number;
  readonly digest: string;
  readonly file_name: string;
  readonly text: string;
  readonly compiled: string;
  readonly applied_by: string;
  readonly applied_at: number;
  readonly active: 0 | 1;
}

export type RequestRowState = 'pending' | 'allowed' | 'denied' | 'expired' | 'withdrawn' | 'superseded' | 'refused';

/** Approval requests, key (operation_id, revision). `card` is the canonical JSON of core's ApprovalRequest. */
export interface RequestsTable {
  readonly operation_id: string;
  readonly revision: number;
  readonly state: RequestRowState;
  readonly short_id: string;
  /** Digest of subject, agent and chain. */
  readonly requester_key: string;
  readonly subject: string;
  readonly agent: string;
  readonly server: string;
  readonly tool: string;
  readonly binding_digest: string;
  readonly arguments_digest: string;
  readonly workflow_id: string;
  readonly call_id: string;
  readonly rule_id: string | null;
  readonly card: string;
  readonly level: number;
  readonly opened_at: number;
  readonly deadline_at: number;
  /** Next escalation, reminder or deadline; equals deadline_at when nothing is before it. */
  readonly due_at: number;
  readonly closed_at: number | null;
  readonly closed_reason: string | null;
}

/** Decisions that count, unique by (operation_id, revision, reviewer, answer). `message` is the canonical JSON of the decision as received. */
export interface DecisionsTable {
  readonly decision_id: string;
  readonly operation_id: string;
  readonly revision: number;
  readonly reviewer: string;
  readonly answer: 'allow' | 'deny';
  readonly reason: string | null;
  readonly channel: string;
  readonly verified: 0 | 1;
  readonly message: string;
  readonly decided_at: number;
}

/** What an allowed request yields. A `once` grant is used only by its own operation (`once_for`). */
export interface GrantsTable {
  readonly grant_id: string;
  readonly operation_id: string;
  readonly revision: number;
  readonly once_for: string | null;
  readonly requester_key: string;
  readonly subject: string;
  readonly agent: string;
  readonly server: string;
  readonly tool: string;
  readonly binding_digest: string;
  /** Canonical JSON of core's GrantTerms: ask, deciders, policy version. */
  readonly terms: string;
  readonly uses: number;
  readonly max_uses: number;
  /** Canonical JSON: sums used so far by material field name. */
  readonly totals: string;
  readonly granted_at: number;
  readonly expires_at: number;
  readonly revoked_at: number | null;
  readonly revoked_by: string | null;
  readonly revoked_reason: string | null;
}

export type OperationRowState = 'dispatched' | 'executed' | 'failed' | 'unknown';

/** Operations that were sent. The row exists before the first byte leaves. */
export interface OperationsTable {
  readonly operation_id: string;
  readonly state: OperationRowState;
  readonly revision: number;
  readonly requester_key: string;
  readonly subject: string;
  readonly agent: string;
  readonly server: string;
  readonly tool: string;
  readonly workflow_id: string;
  readonly call_id: string;
  readonly binding_digest: string;
  /** Digest over server, tool and every argument: the content of the call, whatever the rule binds. */
  readonly content_digest: string;
  /** Digest over server, tool and material fields, to find similar operations. */
  readonly similar_digest: string;
  readonly grant_id: string | null;
  /** Canonical JSON of core's ApprovalFacts, or null where no rule asked. */
  readonly approval: string | null;
  readonly policy_version: number;
  /** Canonical JSON of core's OutcomeContract as of dispatch, or null; with the arguments that it needs. */
  readonly look_up: string | null;
  readonly attempt: number;
  /** The last attempt whose effect is proven absent; only then may an idempotent tool be sent to again. */
  readonly absent_attempt: number;
  readonly dispatched_at: number;
  readonly lease_until: number;
  readonly ended_at: number | null;
  readonly result: string | null;
  readonly result_digest: string | null;
  readonly result_is_error: 0 | 1 | null;
  readonly evidence: string | null;
  readonly detail: string | null;
  readonly settled_by: string | null;
}

/** The chain of facts; append-only by trigger. `hash` covers its predecessor's hash, seq, at, kind, operation and body. */
export interface AuditTable {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly operation_id: string | null;
  /** Canonical JSON. */
  readonly body: string;
  readonly prev_hash: string;
  readonly hash: string;
}

export interface AuditHeadsTable {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** Signed heads of the audit chain; copies go out through the outbox and the log. */
export interface CheckpointsTable {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  readonly key_id: string;
  readonly signature: string;
}

/** Events to deliver at least once. `position` follows the order of commits; `body` is the canonical JSON of a CloudEvent. */
export interface OutboxTable {
  readonly event_id: string;
  readonly position: Generated<number>;
  readonly type: string;
  readonly body: string;
  readonly created_at: number;
}

/** What an endpoint is reached by. */
export type DeliveryChannel = 'webhook' | 'slack' | 'teams' | 'email' | 'pagerduty';

/** How far the outbox was handed to an endpoint: everything up to `position` has a delivery or was not for it. */
export interface EndpointsTable {
  readonly endpoint: string;
  readonly position: number;
  /** Empty where nobody served the endpoint since results are counted. */
  readonly channel: DeliveryChannel | '';
  /** Attempts by their result, ever. */
  readonly delivered: number;
  readonly failed: number;
  readonly given_up: number;
}

/** One event on its way to one endpoint; open while `delivered_at` and `given_up_at` are null. */
export interface DeliveriesTable {
  readonly endpoint: string;
  readonly position: number;
  readonly attempts: number;
  /** Next try, or the end of the lease of the process that tries now. */
  readonly due_at: number;
  readonly delivered_at: number | null;
  readonly given_up_at: number | null;
  readonly last_error: string | null;
}

/** Reviews of emergencies, one for each grant that was given under an emergency rule; open while `closed_at` is null. */
export interface RetrospectivesTable {
  readonly grant_id: string;
  readonly operation_id: string;
  readonly rule_id: string;
  readonly ticket: string;
  readonly reason: string;
  /** Canonical JSON: the names of those who would have been asked. */
  readonly skipped: string;
  readonly opened_at: number;
  readonly due_at: number;
  readonly closed_at: number | null;
  readonly closed_by: string | null;
  readonly finding: 'justified' | 'notJustified' | null;
  readonly note: string | null;
}

/** Operations whose effect somebody undid. */
export interface ReversalsTable {
  readonly operation_id: string;
  readonly reported_by: string;
  readonly reason: string;
  readonly reported_at: number;
}

/** What somebody would have answered to a request of the sample who did not know what was; key (operation_id, revision). */
export interface SecondReviewsTable {
  readonly operation_id: string;
  readonly revision: number;
  readonly answer: 'allow' | 'deny';
  /** Whether that is what was decided. */
  readonly agrees: 0 | 1;
  readonly reviewer: string;
  readonly note: string;
  readonly reviewed_at: number;
}

/** Which operation an identical call through a gateway means, by the call's key, and whether its end was given. */
export interface GatewayCallsTable {
  readonly call_key: string;
  readonly turn_id: string;
  readonly operation_id: string;
  readonly opened_at: number;
  readonly delivered_at: number | null;
}

export type GatewayCallRow = Selectable<GatewayCallsTable>;

/** Facts about the ledger itself: its epoch. */
export interface MetaTable {
  readonly key: string;
  readonly value: string;
}

export interface Database {
  readonly policies: PoliciesTable;
  readonly requests: RequestsTable;
  readonly decisions: DecisionsTable;
  readonly grants: GrantsTable;
  readonly operations: OperationsTable;
  readonly audit: AuditTable;
  readonly audit_heads: AuditHeadsTable;
  readonly checkpoints: CheckpointsTable;
  readonly outbox: OutboxTable;
  readonly endpoints: EndpointsTable;
  readonly deliveries: DeliveriesTable;
  readonly gateway_calls: GatewayCallsTable;
  readonly retrospectives: RetrospectivesTable;
  readonly reversals: ReversalsTable;
  readonly second_reviews: SecondReviewsTable;
  readonly meta: MetaTable;
}
