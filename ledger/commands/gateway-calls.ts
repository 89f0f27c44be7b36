import type { CallState } from '../../core/call-state';
import { operationId } from '../../core/digest';
import { GATEWAY_CALL_ID, gatewayTurnId, REPLAY_MS, UNDELIVERED_MS } from '../../core/gateway-call';
import type { RuleRef } from '../../core/evaluation';
import { cardOf, stateOfOperation, stateOfRequest, type OperationRow, type RequestRow } from '../rows';
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
  /** Its latest approval request; null where nobody was asked. */
  readonly asked: { readonly revision: number; readonly digest: string; readonly rule: RuleRef | null } | null;
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
    return numInsertedOrUpdatedRows === 1n ? claimed(first, NOTHING) : claimCall(tx, call);
  }
  const standing = await standingOf(tx, row.operation_id);
  if (!isOver(row, standing, tx.nowMs)) return claimed(row, standing);
  const next = newRow(call, Math.max(tx.nowMs, row.opened_at + 1));
  await tx.db.updateTable('gateway_calls').set(next).where('call_key', '=', call.callKey).execute();
  return claimed(next, NOTHING);
}

/** Where a claimed call stands now: the same operation, also where an identical call would mean another one already. */
export async function readClaimedCall(tx: Tx, { callKey, ...claim }: { readonly callKey: string } & ClaimedCall) {
  const row = await lockRow(tx, callKey);
  const { state, request } = await standingOf(tx, claim.operationId);
  const isSame = row?.operation_id === claim.operationId;
  return { ...claim, state, asked: askedOf(request), deliveredAtMs: isSame ? row.delivered_at : claim.deliveredAtMs };
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

interface Standing {
  readonly state: CallState | null;
  readonly request: RequestRow | null;
  readonly operation: OperationRow | null;
}

const NOTHING: Standing = { state: null, request: null, operation: null };

function claimed(row: GatewayCallRow, { state, request }: Standing): ClaimedCall {
  const { turn_id: turnId, operation_id: id, delivered_at: deliveredAtMs } = row;
  return { turnId, operationId: id, state, asked: askedOf(request), deliveredAtMs };
}

function askedOf(row: RequestRow | null): ClaimedCall['asked'] {
  return row === null ? null : { revision: row.revision, digest: row.binding_digest, rule: cardOf(row).ask.rule };
}

async function standingOf(tx: Tx, id: string): Promise<Standing> {
  const { request, operation } = await lockCall(tx, id);
  if (operation !== null) return { state: stateOfOperation(operation, lookUpAt(operation)), request, operation };
  const state = request === null ? await stateWithoutRow(tx, id) : stateOfRequest(request, await decisionsOf(tx, id));
  return { state, request, operation };
}

/** True where an identical call means another run: its end was given, and long enough ago. */
function isOver(
  { delivered_at: deliveredAtMs }: GatewayCallRow,
  { state, operation }: Standing,
  nowMs: number,
): boolean {
  if (state?.status !== 'ended' || state.end.outcome === 'unknown') return false;
  if (state.end.outcome !== 'executed') return deliveredAtMs !== null;
  const sinceMs = nowMs - (deliveredAtMs ?? operation?.ended_at ?? nowMs);
  return sinceMs >= (deliveredAtMs === null ? UNDELIVERED_MS : REPLAY_MS);
}
