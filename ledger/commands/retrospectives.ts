import { isBlank } from '../../core/display';
import { reviewWithinMs } from '../../core/emergency';
import { canonicalJson } from '../../core/json';
import { jsonOf } from '../../core/json-record';
import type { Policy } from '../../core/policy';
import { emergencyReviewers, skippedApprovers, type Emergency, type Finding } from '../../core/retrospective';
import {
  cardOf,
  messageOf,
  termsOf,
  type DecisionRow,
  type GrantRow,
  type RequestRow,
  type RetrospectiveRow,
} from '../rows';
import type { Tx } from '../transaction';
import { emergencyEvent } from './events';
import { grantOf, lockOperation } from './locate';

interface Allowed {
  readonly row: RequestRow;
  readonly grant: GrantRow;
  /** The allow that made the emergency whole. */
  readonly decision: DecisionRow;
  readonly policy: Policy;
}

/** Opens the review of an emergency that was just allowed, and tells those whom it skipped. */
export async function openRetrospective(tx: Tx, { row, grant, decision, policy }: Allowed): Promise<void> {
  const { emergency, reason = '' } = messageOf(decision);
  const withinMs = emergency === undefined ? null : reviewWithinMs(policy, emergency.rule);
  if (emergency === undefined || withinMs === null) throw new Error('only an emergency is reviewed');
  const request = cardOf(row);
  const skipped = skippedApprovers(policy, request.ask);
  const entry: RetrospectiveRow = {
    grant_id: grant.grant_id,
    operation_id: row.operation_id,
    rule_id: emergency.rule,
    ticket: emergency.ticket,
    reason,
    skipped: canonicalJson(skipped),
    opened_at: tx.nowMs,
    due_at: tx.nowMs + withinMs,
    closed_at: null,
    closed_by: null,
    finding: null,
    note: null,
  };
  await tx.db.insertInto('retrospectives').values(entry).execute();
  const { deciders } = termsOf(grant);
  const about = { grantId: grant.grant_id, rule: emergency.rule, ticket: emergency.ticket, reason };
  const body = { ...about, revision: row.revision, skipped, dueAtMs: entry.due_at };
  tx.fact({ kind: 'retrospective.opened', operationId: row.operation_id, body });
  tx.emit(emergencyEvent('allowed', grant, { ...body, deciders, request: jsonOf(request) }));
}

/** What one of those who were skipped found. */
export interface RetrospectiveReview {
  readonly grantId: string;
  readonly finding: Finding;
  readonly by: string;
  readonly note: string;
  /** Whether somebody made sure that it is them; a name alone is a claim. */
  readonly verified?: boolean;
}

export type RetrospectiveReviewed = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/** Closes the review of an emergency with what one of those whom it skipped found. */
export async function closeRetrospective(
  tx: Tx,
  { review, policy }: { review: RetrospectiveReview; policy: Policy },
): Promise<RetrospectiveReviewed> {
  const { grantId, finding, by, note, verified = false } = review;
  const refused = (detail: string) => ({ ok: false, detail }) as const;
  const found = await retrospectiveOf(tx, grantId);
  if (found === null) return refused(`no emergency ${grantId}`);
  await lockOperation(tx, found.operation_id);
  const row = (await retrospectiveOf(tx, grantId)) ?? found;
  const reviewers = emergencyReviewers(policy, await emergencyOf(tx, row));
  if (!reviewers.includes(by))
    return refused(`${by} may not review emergency ${grantId}; who may: ${reviewers.join(', ') || 'nobody is left'}`);
  if (isBlank(note)) return refused('a review needs a note: what was found, and what follows from it');
  if (row.closed_at !== null) return refused(`too late: ${row.closed_by ?? ''} found it ${row.finding ?? ''} before`);
  const closed = { closed_at: tx.nowMs, closed_by: by, finding, note };
  await tx.db.updateTable('retrospectives').set(closed).where('grant_id', '=', grantId).execute();
  const body = { grantId, finding, by, note, verified };
  tx.fact({ kind: 'retrospective.closed', operationId: row.operation_id, body });
  tx.emit(emergencyEvent('reviewed', await grantOf(tx, grantId), body));
  return { ok: true };
}

async function retrospectiveOf(tx: Tx, grantId: string): Promise<RetrospectiveRow | null> {
  const query = tx.db.selectFrom('retrospectives').selectAll().where('grant_id', '=', grantId);
  return (await query.executeTakeFirst()) ?? null;
}

async function emergencyOf(tx: Tx, { grant_id: grantId }: RetrospectiveRow): Promise<Emergency> {
  const grant = await grantOf(tx, grantId);
  const request = await tx.db
    .selectFrom('requests')
    .select('card')
    .where('operation_id', '=', grant.operation_id)
    .where('revision', '=', grant.revision)
    .executeTakeFirstOrThrow();
  const { ask, requester } = cardOf(request);
  return { ask, requester, deciders: termsOf(grant).deciders };
}
