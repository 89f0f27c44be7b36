import { cardOf, type RequestRow } from '../rows';
import type { Tx } from '../transaction';
import { requestEvent } from './events';

/** Closes a request that the caller has locked, and answers it closed: state, audit fact and event together. */
export async function closeRequest(
  tx: Tx,
  row: RequestRow,
  end: { state: 'allowed' | 'denied' | 'expired' | 'withdrawn' | 'refused'; reason: string | null },
): Promise<RequestRow> {
  const closed = { state: end.state, closed_at: tx.nowMs, closed_reason: end.reason };
  const result = await tx.db
    .updateTable('requests')
    .set(closed)
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .where('state', '=', row.state)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n)
    throw new Error(`the request ${row.operation_id} was changed although it is locked`);
  if (row.state === 'allowed') await endOnceGrant(tx, row, end);
  const body = { revision: row.revision, bindingDigest: row.binding_digest, reason: end.reason };
  tx.fact({ kind: `request.${end.state}`, operationId: row.operation_id, body });
  tx.emit(requestEvent(end.state, cardOf(row), { reason: end.reason }));
  return { ...row, ...closed };
}

/** What was allowed for this call alone permits nothing any more; a window also covers others. */
async function endOnceGrant(tx: Tx, row: RequestRow, end: { state: string; reason: string | null }): Promise<void> {
  await tx.db
    .updateTable('grants')
    .set({ revoked_at: tx.nowMs, revoked_by: 'holdpoint', revoked_reason: end.reason ?? end.state })
    .where('once_for', '=', row.operation_id)
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .where('revoked_at', 'is', null)
    .execute();
}
