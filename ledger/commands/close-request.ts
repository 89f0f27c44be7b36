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
  const body = { revision: row.revision, bindingDigest: row.binding_digest, reason: end.reason };
  tx.fact({ kind: `request.${end.state}`, operationId: row.operation_id, body });
  tx.emit(requestEvent(end.state, cardOf(row), { reason: end.reason }));
  return { ...row, ...closed };
}
