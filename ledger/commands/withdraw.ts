import type { CallState } from '../../core/call-state';
import { stateOfOperation, stateOfRequest } from '../rows';
import type { Tx } from '../transaction';
import { decisionsOf, lockLatestRequest, operationOf } from './locate';
import { lookUpAt, withdrawnState } from './read-call';
import { closeRequest } from './close-request';

/** Ends a call that was not sent. What was sent, or ended before, stays as it is; its state is the answer. */
export async function withdraw(
  tx: Tx,
  { operationId, reason }: { operationId: string; reason: string },
): Promise<CallState> {
  // Locked before the operation is looked for: a dispatch that commits meanwhile is then seen.
  const row = await lockLatestRequest(tx, operationId);
  const operation = await operationOf(tx, operationId);
  if (operation !== null) return stateOfOperation(operation, lookUpAt(operation));
  if (row === null) return withoutRow(tx, operationId, reason);
  const decisions = await decisionsOf(tx, operationId);
  if (row.state !== 'pending' && row.state !== 'allowed') return stateOfRequest(row, decisions);
  const state = row.state === 'pending' && tx.nowMs >= row.deadline_at ? 'expired' : 'withdrawn';
  const why = state === 'expired' ? 'the deadline passed' : reason;
  return stateOfRequest(await closeRequest(tx, row, { state, reason: why }), decisions);
}

/** A call that nobody was asked about: the fact alone says that it may not be sent any more. */
function withoutRow(tx: Tx, operationId: string, reason: string): CallState {
  tx.fact({ kind: 'call.withdrawn', operationId, body: { reason } });
  return withdrawnState(reason);
}
