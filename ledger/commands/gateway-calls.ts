import type { CallState } from '../../core/call-state';
import { operationId } from '../../core/digest';
import { GATEWAY_CALL_ID, gatewayTurnId, REPLAY_MS, UNDELIVERED_MS } from '../../core/gateway-call';
import { stateOfOperation, stateOfRequest, type OperationRow } from '../rows';
import type { GatewayCallRow } from '../schema';
import type { Tx } from '../transaction';
import { decisionsOf } from './locate';
import { lockCall, lookUpAt, stateWithoutRow } from './read-call';

/** A call as a gateway identifies it: `callKey` is the keyed hash of requester, server, tool, arguments, own key. */
export interface CallIdentity {
  readonly callKey: string;
  readonly subject: string;
  readonly server: string;
  readonly tool: string;
}

/** The operation that an identical call means now. `state` is null where nothing is on record yet. */
export interface ClaimedCall {
  readonly turnId: string;
  readonly operationId: string;
  readonly state: CallState | null;
  /** When its end was first written to a client's connection; null where that never happened. */
  readonly deliveredAtMs: number | null;
}

/**
 * Which operation a gateway's call belongs to: the one under way, or the one whose end has not reached the requester
 * (or may not have); else a new one. One that is unknown stays: nobody is asked again about what may have happened.
 * Whichever gateway asks gets the same answer.
 */
export async function claimCall(tx: Tx, call: CallIdentity): Promise<ClaimedCall> {
  const row = await lockRow(tx, call.callKey);
  if (row === null) {
    const first = newRow(call, tx.nowMs);
    const { numInsertedOrUpdatedRows } = await tx.db
      .insertInto('gateway_calls')
      .values(first)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n ? claimed(first, null) : claimCall(tx, call);
  }
  const rows = await lockCall(tx, row.operation_id);
  const state = await stateOf(tx, row.operation_id, rows);
  if (!isOver(row, { state, operation: rows.operation, nowMs: tx.nowMs })) return claimed(row, state);
  const next = newRow(call, Math.max(tx.nowMs, row.opened_at + 1));
  await tx.db.updateTable('gateway_calls').set(next).where('call_key', '=', call.callKey).execute();
  return claimed(next, null);
}

/** Notes that the end of an operation was written to a client's connection that was open. */
export async function noteDelivered(
  tx: Tx,
  { callKey, operationId: id }: { readonly callKey: string; readonly operationId: string },
): Promise<void> {
  const { numUpdatedRows } = await tx.db
    .updateTable('gateway_calls')
    .set({ delivered_at: tx.nowMs })
    .where('call_key', '=', callKey)
    .where('operation_id', '=', id)
    .where('delivered_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 1n) tx.fact({ kind: 'result.delivered', operationId: id, body: { by: 'gateway' } });
}

async function lockRow(tx: Tx, callKey: string): Promise<GatewayCallRow | null> {
  const row = tx.db.selectFrom('gateway_calls').selectAll().where('call_key', '=', callKey);
  return (await (tx.kind === 'postgres' ? row.forUpdate() : row).executeTakeFirst()) ?? null;
}

function newRow(call: CallIdentity, nowMs: number): GatewayCallRow {
  const turnId = gatewayTurnId(call, nowMs);
  return {
    call_key: call.callKey,
    turn_id: turnId,
    operation_id: operationId({ requesterSubject: call.subject, turnId, callId: GATEWAY_CALL_ID }),
    opened_at: nowMs,
    delivered_at: null,
  };
}

function claimed(row: GatewayCallRow, state: CallState | null): ClaimedCall {
  return { turnId: row.turn_id, operationId: row.operation_id, state, deliveredAtMs: row.delivered_at };
}

async function stateOf(
  tx: Tx,
  id: string,
  { request, operation }: Awaited<ReturnType<typeof lockCall>>,
): Promise<CallState | null> {
  if (operation !== null) return stateOfOperation(operation, lookUpAt(operation));
  return request === null ? stateWithoutRow(tx, id) : stateOfRequest(request, await decisionsOf(tx, id));
}

interface Standing {
  readonly state: CallState | null;
  readonly operation: OperationRow | null;
  readonly nowMs: number;
}

/** True where an identical call means another run: its end was given, and long enough ago. */
function isOver({ delivered_at: deliveredAtMs }: GatewayCallRow, { state, operation, nowMs }: Standing): boolean {
  if (state?.status !== 'ended' || state.end.outcome === 'unknown') return false;
  if (state.end.outcome !== 'executed') return deliveredAtMs !== null;
  const sinceMs = nowMs - (deliveredAtMs ?? operation?.ended_at ?? nowMs);
  return sinceMs >= (deliveredAtMs === null ? UNDELIVERED_MS : REPLAY_MS);
}
