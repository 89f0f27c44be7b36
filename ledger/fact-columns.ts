import type { SignatureCheck } from '../core/judge-decision';
import { canonicalJson, isJsonObject, parseStrictJson, type JsonObject, type JsonValue } from '../core/json';
import type { Columns } from './actual-rows';

/** Whether the sums of a window are beyond what it allows. */
export function exceeds(totals: string, limits: JsonValue): boolean {
  const sums = bodyOf(totals);
  if (limits === null || !isJsonObject(limits)) return false;
  return Object.entries(limits).some(([field, limit]) => Number(sums[field] ?? 0) > Number(limit));
}

/** The sums of a window after one more use. */
export function summed(totals: string, amounts: JsonValue): string {
  const sums: Record<string, JsonValue> = { ...bodyOf(totals) };
  if (amounts === null || !isJsonObject(amounts)) return totals;
  for (const [field, amount] of Object.entries(amounts)) sums[field] = Number(sums[field] ?? 0) + Number(amount);
  return canonicalJson(sums);
}

export function openedColumns(body: JsonObject, at: number): Columns {
  return {
    state: 'pending',
    binding_digest: body['bindingDigest'],
    card: body['card'],
    row: body['row'],
    level: body['level'],
    opened_at: at,
    deadline_at: body['deadlineAtMs'],
    due_at: body['dueAtMs'],
    closed_at: null,
    closed_reason: null,
  };
}

/** What stands in a fact for a signature that proves who decided. */
const PROOFS: readonly unknown[] = ['valid', 'vouched'] satisfies SignatureCheck[];

export function decisionColumns(body: JsonObject, at: number): Columns {
  return {
    revision: body['revision'],
    reviewer: body['reviewer'],
    answer: body['answer'],
    reason: body['reason'],
    channel: body['channel'],
    verified: PROOFS.includes(body['signature']) ? 1 : 0,
    message: body['message'],
    decided_at: at,
  };
}

export function grantColumns(body: JsonObject, at: number): Columns {
  return {
    revision: body['revision'],
    once: body['once'],
    terms: body['terms'],
    row: body['row'],
    uses: 0,
    max_uses: body['uses'],
    totals: '{}',
    granted_at: at,
    expires_at: body['expiresAtMs'],
    revoked_at: null,
    revoked_by: null,
    revoked_reason: null,
  };
}

export function retrospectiveColumns(body: JsonObject, at: number): Columns {
  return {
    rule_id: body['rule'],
    ticket: body['ticket'],
    reason: body['reason'],
    skipped: canonicalJson(body['skipped'] ?? null),
    opened_at: at,
    due_at: body['dueAtMs'],
    closed_at: null,
    closed_by: null,
    finding: null,
    note: null,
  };
}

export function closedColumns(body: JsonObject, at: number): Columns {
  return { closed_at: at, closed_by: body['by'], finding: body['finding'], note: body['note'] };
}

export function reversalColumns(body: JsonObject, at: number): Columns {
  return { reported_by: body['by'], reason: body['reason'], reported_at: at };
}

export function secondReviewColumns(body: JsonObject, at: number): Columns {
  const { answer, by: reviewer, note, agrees } = body;
  return { answer, reviewer, note, agrees: agrees === true ? 1 : 0, reviewed_at: at };
}

export function dispatchedColumns(body: JsonObject, at: number): Columns {
  const approval = body['approval'] ?? null;
  return {
    row: body['row'],
    binding_digest: body['bindingDigest'],
    content_digest: body['contentDigest'],
    policy_version: body['policyVersion'],
    approval: approval === null ? null : canonicalJson(approval),
    attempt: body['attempt'],
    absent_attempt: 0,
    dispatched_at: at,
    ...outcomeColumns({ outcome: 'dispatched' }, null),
  };
}

/** The columns of an outcome; `at` is null for an operation that has none yet. */
export function outcomeColumns(body: JsonObject, at: number | null): Columns {
  const isError = body['isError'] ?? null;
  return {
    state: body['outcome'],
    ended_at: at,
    result: body['resultDigest'] ?? null,
    result_digest: body['resultDigest'] ?? null,
    result_is_error: isError === null ? null : Number(isError),
    evidence: body['evidence'] ?? null,
    detail: body['detail'] ?? null,
    settled_by: body['settledBy'] ?? null,
  };
}

/** A body that is none is found by its hash; here it says nothing. */
export function bodyOf(body: string): JsonObject {
  const parsed = parseStrictJson(body, { maxBytes: MAX_BODY_BYTES });
  return parsed.ok && parsed.value !== null && isJsonObject(parsed.value) ? parsed.value : {};
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** A member of a body as text. */
export function text(body: Columns, name: string): string {
  const value = body[name] ?? null;
  return typeof value === 'object' ? canonicalJson(value) : String(value);
}
