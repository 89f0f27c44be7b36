import type { GrantRow } from '../rows';
import type { Tx } from '../transaction';

export type Revoked =
  | { readonly ok: true; readonly grant: GrantRow }
  | { readonly ok: false; readonly detail: string; readonly grant: GrantRow | null };

export interface Revocation {
  readonly grantId: string;
  readonly by: string;
  readonly reason: string;
  /** Whether somebody made sure that it is them; a name alone is a claim. */
  readonly verified?: boolean;
}

/** Ends a grant now. Uses that were consumed before stay sent, and the answer says so. */
export async function revokeGrant(tx: Tx, { grantId, by, reason, verified = false }: Revocation): Promise<Revoked> {
  const result = await tx.db
    .updateTable('grants')
    .set({ revoked_at: tx.nowMs, revoked_by: by, revoked_reason: reason })
    .where('grant_id', '=', grantId)
    .where('revoked_at', 'is', null)
    .whereRef('uses', '<', 'max_uses')
    .where('expires_at', '>', tx.nowMs)
    .executeTakeFirst();
  const grant =
    (await tx.db.selectFrom('grants').selectAll().where('grant_id', '=', grantId).executeTakeFirst()) ?? null;
  if (grant === null) return { ok: false, detail: `no grant ${grantId}`, grant };
  if (result.numUpdatedRows === 1n) {
    tx.fact({
      kind: 'grant.revoked',
      operationId: grant.operation_id,
      body: { grantId, by, reason, verified, uses: grant.uses },
    });
    return { ok: true, grant };
  }
  const why =
    grant.revoked_at !== null
      ? 'was revoked before'
      : grant.uses >= grant.max_uses
        ? 'was used up before'
        : 'had ended before';
  return { ok: false, detail: `too late: grant ${grantId} ${why}`, grant };
}
