import { sql } from 'kysely';
import type { DecisionRow, GrantRow, OperationRow, RequestRow } from '../rows';
import type { Tx } from '../transaction';

/**
 * The one order of everything that happens to an operation: every command on it starts here and holds it until the
 * transaction ends, also where no row exists yet. What was committed while it waited, its later statements see.
 * (SQLite's transactions are exclusive already.)
 */
export async function lockOperation(tx: Tx, operationId: string): Promise<void> {
  if (tx.kind === 'postgres') await sql`select pg_advisory_xact_lock(${lockKey(operationId)})`.execute(tx.db);
}

/** False where another transaction works on the operation right now. */
export async function tryLockOperation(tx: Tx, operationId: string): Promise<boolean> {
  if (tx.kind === 'sqlite') return true;
  const { rows } = await sql<{
    got: boolean;
  }>`select pg_try_advisory_xact_lock(${lockKey(operationId)}) as got`.execute(tx.db);
  return rows[0]?.got === true;
}

function lockKey(operationId: string) {
  return sql`hashtextextended(${operationId}, 0)`;
}

/** The latest revision of a request, with its operation locked. */
export async function lockLatestRequest(tx: Tx, operationId: string): Promise<RequestRow | null> {
  await lockOperation(tx, operationId);
  const row = await tx.db
    .selectFrom('requests')
    .selectAll()
    .where('operation_id', '=', operationId)
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** A grant that was just read, locked: whoever uses it next sees what this transaction used. */
export async function lockGrant(tx: Tx, grant: GrantRow): Promise<GrantRow> {
  return tx.kind === 'sqlite' ? grant : grantOf(tx, grant.grant_id);
}

/** A grant, locked. */
export async function grantOf(tx: Tx, grantId: string): Promise<GrantRow> {
  const grant = tx.db.selectFrom('grants').selectAll().where('grant_id', '=', grantId);
  return (tx.kind === 'postgres' ? grant.forUpdate() : grant).executeTakeFirstOrThrow();
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
