import type { Ask } from '../../core/evaluation';
import { asksOwnHuman, extentOf, type GrantExtent, type GrantTerms } from '../../core/grant';
import { canonicalJson } from '../../core/json';
import { jsonOf } from '../../core/json-record';
import { fixedOfGrant } from '../row-digest';
import { textDigest } from '../text-digest';
import { cardOf, countedOf, coveredReason, messageOf, type DecisionRow, type GrantRow, type RequestRow } from '../rows';
import type { Tx } from '../transaction';
import { closeRequest } from './close-request';
import { lockLatestRequest, tryLockOperation } from './locate';

/** Writes what a request yields that was just allowed, and answers its siblings where that is a window. */
export async function issueGrant(
  tx: Tx,
  { row, decisions, ask }: { row: RequestRow; decisions: readonly DecisionRow[]; ask: Ask },
): Promise<GrantRow> {
  const under = ask.emergency ? (ask.rule?.id ?? null) : null;
  const allows = decisions.filter((entry) => entry.answer === 'allow' && countedOf(entry).emergency === under);
  const minutes = allows.map((allow) => messageOf(allow).minutes).filter((given) => given !== undefined);
  const extent = extentOf(ask, minutes.length === 0 ? null : Math.min(...minutes), tx.nowMs);
  const terms: GrantTerms = {
    v: 1,
    ask,
    deciders: allows.map((allow) => allow.reviewer),
    verified: allows.every((allow) => allow.verified === 1),
    policyVersion: cardOf(row).policyVersion,
    resourceVersion: cardOf(row).resourceVersion,
  };
  const grant = grantRow(tx, { row, terms, extent });
  await tx.db
    .insertInto('grants')
    .values(grant)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  noteGrant(tx, grant, terms);
  if (!extent.once) await coverSiblings(tx, row, { grantId: grant.grant_id, left: extent.maxUses - 1 });
  return grant;
}

function grantRow(
  tx: Tx,
  { row, terms, extent }: { row: RequestRow; terms: GrantTerms; extent: GrantExtent },
): GrantRow {
  return {
    grant_id: `gr_${row.operation_id.slice(3)}.${row.revision}`,
    operation_id: row.operation_id,
    revision: row.revision,
    once_for: extent.once ? row.operation_id : null,
    requester_key: row.requester_key,
    subject: row.subject,
    agent: row.agent,
    server: row.server,
    tool: row.tool,
    binding_digest: row.binding_digest,
    terms: canonicalJson(jsonOf(terms)),
    uses: 0,
    max_uses: extent.maxUses,
    totals: '{}',
    granted_at: tx.nowMs,
    expires_at: extent.expiresAtMs,
    revoked_at: null,
    revoked_by: null,
    revoked_reason: null,
  };
}

function noteGrant(tx: Tx, grant: GrantRow, { ask, deciders, verified }: GrantTerms): void {
  const body = {
    grantId: grant.grant_id,
    revision: grant.revision,
    once: grant.once_for !== null,
    expiresAtMs: grant.expires_at,
    uses: grant.max_uses,
    total: ask.validity.kind === 'window' ? { ...ask.validity.total } : {},
    deciders: [...deciders],
    verified,
    terms: textDigest(grant.terms),
    row: fixedOfGrant(grant),
  };
  tx.fact({ kind: 'grant.issued', operationId: grant.operation_id, body });
}

/**
 * A new window answers pending requests of the same requester, binding and rules; nothing else is covered by it. A
 * sibling that somebody decides right now is left to them, and one that also asks the requester's own human is asked.
 */
async function coverSiblings(tx: Tx, row: RequestRow, grant: { grantId: string; left: number }): Promise<void> {
  const asked = cardOf(row).ask;
  if (asksOwnHuman(asked)) return;
  const pending = await tx.db
    .selectFrom('requests')
    .select('operation_id')
    .where('requester_key', '=', row.requester_key)
    .where('binding_digest', '=', row.binding_digest)
    .where('state', '=', 'pending')
    .where('operation_id', '!=', row.operation_id)
    .orderBy('opened_at')
    .limit(Math.min(grant.left, MOST_SIBLINGS))
    .execute();
  for (const { operation_id: operationId } of pending) {
    if (!(await tryLockOperation(tx, operationId))) continue;
    const sibling = await lockLatestRequest(tx, operationId);
    const open =
      sibling?.state === 'pending' && sibling.deadline_at > tx.nowMs && sibling.binding_digest === row.binding_digest;
    if (!open || canonicalJson(jsonOf(cardOf(sibling).ask)) !== canonicalJson(jsonOf(asked))) continue;
    await closeRequest(tx, sibling, { state: 'allowed', reason: coveredReason(grant.grantId) });
  }
}

const MOST_SIBLINGS = 50;
