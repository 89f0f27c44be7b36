import type { CallState } from '../../core/call-state';
import { refusal } from '../../core/errors';
import {
  contractOf,
  refusedFactOf,
  stateOfOperation,
  stateOfRequest,
  withdrawnFactOf,
  type OperationRow,
  type RequestRow,
} from '../rows';
import type { Tx } from '../transaction';
import { decisionsOf, lockLatestRequest, operationOf } from './locate';
import type { CallRef } from './open-call';

/** What is on record of a call; null where nothing is. The same id with other content is a conflict, whoever asks. */
export async function readCall(tx: Tx, call: CallRef): Promise<CallState | null> {
  return stateOfCall(tx, call, await lockCall(tx, call.operationId));
}

/** The rows of a call; null where there is none. */
export interface CallRows {
  readonly request: RequestRow | null;
  readonly operation: OperationRow | null;
}

export async function lockCall(tx: Tx, operationId: string): Promise<CallRows> {
  // Locked before the operation is looked for: a dispatch that commits meanwhile is then seen.
  const request = await lockLatestRequest(tx, operationId);
  return { request, operation: await operationOf(tx, operationId) };
}

export async function stateOfCall(tx: Tx, call: CallRef, { request, operation }: CallRows): Promise<CallState | null> {
  if (operation !== null) {
    if (operation.content_digest !== call.contentDigest) return conflict(call);
    return stateOfOperation(operation, lookUpAt(operation));
  }
  if (request === null) return endedWithoutRow(tx, call);
  if (request.arguments_digest !== call.contentDigest) return conflict(call);
  const decisions =
    request.state === 'denied' || request.state === 'expired' ? await decisionsOf(tx, call.operationId) : [];
  return stateOfRequest(request, decisions);
}

/** A call that was refused, or taken back, before anybody was asked left no row but its fact: that is final as well. */
async function endedWithoutRow(tx: Tx, call: CallRef): Promise<CallState | null> {
  const fact = await endingFact(tx, call.operationId);
  if (fact === undefined) return null;
  if (fact.kind === 'call.withdrawn') return withdrawnState(withdrawnFactOf(fact.body).reason);
  const { code, detail, contentDigest } = refusedFactOf(fact.body);
  if (contentDigest !== call.contentDigest) return conflict(call);
  return { status: 'ended', end: { outcome: 'refused', code, detail } };
}

function endingFact(tx: Tx, operationId: string) {
  return tx.db
    .selectFrom('audit')
    .select(['kind', 'body'])
    .where('operation_id', '=', operationId)
    .where('kind', 'in', ['call.refused', 'call.withdrawn'])
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
}

/** The end of a call without rows, for somebody who has no content to compare it with; null where it has none yet. */
export async function stateWithoutRow(tx: Tx, operationId: string): Promise<CallState | null> {
  const fact = await endingFact(tx, operationId);
  if (fact === undefined) return null;
  if (fact.kind === 'call.withdrawn') return withdrawnState(withdrawnFactOf(fact.body).reason);
  const { code, detail } = refusedFactOf(fact.body);
  return { status: 'ended', end: { outcome: 'refused', code, detail } };
}

export function withdrawnState(detail: string): CallState {
  return { status: 'ended', end: { outcome: 'withdrawn', detail } };
}

/** When absence of an effect may be believed: no attempt can still be sending, and the tool had time to settle. */
export function lookUpAt(operation: OperationRow): number {
  return operation.lease_until + (contractOf(operation)?.contract.settleAfterMs ?? 0);
}

function conflict(call: CallRef): CallState {
  return { status: 'ended', end: { outcome: 'refused', ...refusal('TURN_CONFLICT', { turn: call.turnId }) } };
}
