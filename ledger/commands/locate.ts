import type { DecisionRow, GrantRow, OperationRow, RequestRow } from '../rows';
import type { Tx } from '../transaction';

/**
 * The latest revision of a request, locked until the transaction ends: every command on a request starts here, so
 * allow, deny, expire, withdraw and re-review have one order. (SQLite's transactions are exclusive already.)
 */
export async function lockLatestRequest(tx: Tx, operationId: string): Promise<RequestRow | null> {
  const latest = () =>
    tx.db
      .selectFrom('requests')
      .selectAll()
      .where('operation_id', '=', operationId)
      .orderBy('revision', 'desc')
      .limit(1);
  if (tx.kind === 'sqlite') return (await latest().executeTakeFirst()) ?? null;
  let row = await latest().forUpdate().executeTakeFirst();
  let newest = await latest().executeTakeFirst();
  // A new revision that was committed while the lock was awaited is not in the first statement's snapshot.
  while (row !== undefined && newest !== undefined && newest.revision !== row.revision) {
    row = await latest().forUpdate().executeTakeFirst();
    newest = await latest().executeTakeFirst();
  }
  return row ?? null;
}

export async function decisionsOf(tx: Tx, operationId: string): Promise<readonly DecisionRow[]> {
  return tx.db
    .selectFrom('decisions')
    .selectAll()
    .where('operation_id', '=', operationId)
    .orderBy('decided_at')
    .orderBy('decision_id')
    .execute();
}

export async function operationOf(tx: Tx, operationId: string): Promise<OperationRow | null> {
  const row = await tx.db
    .selectFrom('operations')
    .selectAll()
    .where('operation_id', '=', operationId)
    .executeTakeFirst();
  return row ?? null;
}

/** Grants of a requester that may cover a binding now, its own `once` grant first, then windows, oldest end first. */
export async function usableGrants(
  tx: Tx,
  { requesterKey, bindingDigest, operationId }: { requesterKey: string; bindingDigest: string; operationId: string },
): Promise<readonly GrantRow[]> {
  const rows = await tx.db
    .selectFrom('grants')
    .selectAll()
    .where('requester_key', '=', requesterKey)
    .where('binding_digest', '=', bindingDigest)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', tx.nowMs)
    .whereRef('uses', '<', 'max_uses')
    .where((eb) => eb.or([eb('once_for', 'is', null), eb('once_for', '=', operationId)]))
    .orderBy('expires_at')
    .execute();
  return [...rows.filter((row) => row.once_for !== null), ...rows.filter((row) => row.once_for === null)];
}
