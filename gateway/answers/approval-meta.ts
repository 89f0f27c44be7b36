import { APPROVAL_META_KEY } from '../../client/pending-approval';
import type { RuleRef } from '../../core/evaluation';
import { isJsonObject } from '../../core/json';
import type { JsonObject, JsonValue } from '../../core/json';
import type { ApprovalFacts } from '../../core/outcome';

/**
 * Where a protected call stands. `pending`: people are asked. `allowed`: it may run and waits for its client to call
 * again. `running`: it may have been sent, its outcome is not known yet. `approved`: executed after an approval;
 * `executed`: executed, and no rule asked. The others are ends without success, each by its own name.
 */
export type ApprovalStatus =
  | 'pending'
  | 'allowed'
  | 'running'
  | 'approved'
  | 'executed'
  | 'denied'
  | 'expired'
  | 'withdrawn'
  | 'refused'
  | 'failed'
  | 'unknown';

/** What is known of a protected call, whatever became of it. */
export interface ProtectedCall {
  readonly operationId: string;
  /** Of its latest approval request; null where none was opened. */
  readonly revision: number | null;
  /** The binding digest; null where none was taken. */
  readonly digest: string | null;
  /** The rule that asked; null where none did. */
  readonly rule: RuleRef | null;
  /** Where reviewers find it; null where no console is known. */
  readonly reviewUrl: string | null;
  /** Whether its server lists the tool with an `outputSchema`. */
  readonly hasOutputSchema: boolean;
}

/** What the key says beside the call itself. Times are epoch ms, durations ms. */
export interface ApprovalDetails {
  readonly status: ApprovalStatus;
  readonly deadlineAtMs?: number;
  readonly retryAfterMs?: number;
  /** Of a refusal: its code in the error catalogue. */
  readonly code?: string;
  readonly approval?: ApprovalFacts | null;
  /** True where this result was given before, false where it is new; left out for what is no result of the tool. */
  readonly replayed?: boolean;
}

/**
 * The value of `_meta["dev.holdpoint/approval"]`. Models may get to read `_meta`, so it holds no secret, no token and
 * not who decided: of an approval it names request, rules and grant. Every version has the members of the first part,
 * null where there is nothing to say.
 */
export function approvalMeta(call: ProtectedCall, details: ApprovalDetails): JsonObject {
  const { status, deadlineAtMs = null, retryAfterMs = null, code, approval, replayed } = details;
  return {
    version: 1,
    status,
    operationId: call.operationId,
    revision: call.revision,
    digest: call.digest,
    rule: ruleJson(call.rule),
    deadlineAtMs,
    retryAfterMs,
    reviewUrl: call.reviewUrl,
    ...(code === undefined ? {} : { code }),
    ...(replayed === undefined ? {} : { replayed }),
    ...(approval === undefined || approval === null ? {} : factsJson(approval)),
  };
}

/** `result` with the key beside whatever its own `_meta` holds; what the tool itself claims under that key is lost. */
export function withApprovalMeta(result: JsonObject, meta: JsonObject): JsonObject {
  const own = Object.hasOwn(result, '_meta') ? result['_meta'] : undefined;
  const kept = own !== undefined && isJsonObject(own) ? own : {};
  return { ...result, _meta: { ...kept, [APPROVAL_META_KEY]: meta } };
}

/** Field by field, so that a field which is added to the facts later does not travel by itself. */
function factsJson(facts: ApprovalFacts): JsonObject {
  return {
    request: { operationId: facts.operationId, revision: facts.revision },
    askedRule: ruleJson(facts.askedRule),
    permittedRule: ruleJson(facts.permittedRule),
    grantId: facts.grantId,
    emergency: facts.emergency,
    verified: facts.verified,
  };
}

function ruleJson(rule: RuleRef | null): JsonValue {
  return rule === null ? null : { id: rule.id, version: rule.version };
}
