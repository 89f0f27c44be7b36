import { isBlank } from '../../core/display';
import type { Tx } from '../transaction';
import { operationEvent } from './events';
import { lockOperation, operationOf } from './locate';

/** Somebody undid what an operation did. */
export interface Reversal {
  readonly operationId: string;
  readonly by: string;
  readonly reason: string;
  /** Whether somebody made sure that it is them; a name alone is a claim. */
  readonly verified?: boolean;
}

export type Reported = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/** Puts on record that the effect of an executed operation was undone; the operation stays executed, since it was. */
export async function reportReversal(
  tx: Tx,
  { operationId, by, reason, verified = false }: Reversal,
): Promise<Reported> {
  const refused = (detail: string) => ({ ok: false, detail }) as const;
  await lockOperation(tx, operationId);
  const row = await operationOf(tx, operationId);
  if (row === null) return refused(`no operation ${operationId} was sent`);
  if (row.state !== 'executed')
    return refused(`the outcome of ${operationId} is ${row.state}; only what was executed can have been undone`);
  if (isBlank(reason)) return refused('a reversal needs a reason');
  const inserted = await tx.db
    .insertInto('reversals')
    .values({ operation_id: operationId, reported_by: by, reason, reported_at: tx.nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows !== 1n) return refused(`the reversal of ${operationId} is on record already`);
  const body = { by, reason, verified };
  tx.fact({ kind: 'operation.reversed', operationId, body });
  const { server, tool, workflow_id: workflowId, subject: requester } = row;
  tx.emit(operationEvent('reversed', operationId, { ...body, workflowId, requester, server, tool }));
  return { ok: true };
}
