import type { CallState } from '../../core/call-state';
import type { JsonObject } from '../../core/json';
import type { Evidence } from '../../core/outcome';
import { unreachable } from '../../core/unreachable';
import { stateOfOperation, type OperationRow } from '../rows';
import { textDigest } from '../text-digest';
import type { Tx } from '../transaction';
import { operationEvent } from './events';
import { lockOperation, operationOf } from './locate';
import { lookUpAt } from './read-call';

/** How a sent operation ended. `result` is the tool's result as JSON text. */
export type Ending =
  | {
      readonly outcome: 'executed';
      readonly result: string | null;
      readonly isError: boolean;
      readonly evidence: Evidence;
    }
  | {
      readonly outcome: 'failed';
      readonly detail: string;
      readonly evidence: Evidence;
      /** Whose failure: it says nothing of a later attempt. Left out where the whole operation is proven absent. */
      readonly attempt?: number;
    }
  | { readonly outcome: 'unknown'; readonly detail: string };

/**
 * Writes the outcome of a sent operation once: a later word changes only `dispatched` and `unknown`, so a known outcome
 * never turns unknown; only what was concluded from an absence gives way to proof of the effect. Answers the state on record. Null: the operation was never sent.
 */
export async function recordOutcome(
  tx: Tx,
  { operationId, ending, settledBy = null }: { operationId: string; ending: Ending; settledBy?: string | null },
): Promise<CallState | null> {
  await lockOperation(tx, operationId);
  const before = await operationOf(tx, operationId);
  if (before === null) return null;
  if (!mayFollow(before, ending)) return stateOfOperation(before, lookUpAt(before));
  const outcome = { ...columnsOf(ending), ended_at: tx.nowMs, settled_by: settledBy };
  const row = { ...before, ...outcome };
  await tx.db.updateTable('operations').set(outcome).where('operation_id', '=', operationId).execute();
  if (before.state === 'failed') {
    const body = { believed: before.detail, evidence: row.evidence };
    tx.fact({ kind: 'operation.contradicted', operationId, body });
  }
  note(tx, row, settledBy);
  return stateOfOperation(row, lookUpAt(row));
}

/** Proof of an effect stands above everything that was concluded from its absence. */
function mayFollow(before: OperationRow, ending: Ending): boolean {
  const open = before.state === 'dispatched' || before.state === 'unknown';
  switch (ending.outcome) {
    case 'unknown':
      return before.state === 'dispatched';
    case 'failed':
      return open && (ending.attempt === undefined || ending.attempt === before.attempt);
    case 'executed':
      return open || (before.state === 'failed' && before.evidence === 'lookUp');
    default:
      return unreachable(ending);
  }
}

function columnsOf(ending: Ending) {
  const none = { result: null, result_digest: null, result_is_error: null } as const;
  switch (ending.outcome) {
    case 'executed': {
      const { result, isError, evidence } = ending;
      const digest = result === null ? null : textDigest(result);
      const columns = { result, result_digest: digest, result_is_error: isError ? 1 : 0 } as const;
      return { state: 'executed', ...columns, evidence, detail: null } as const;
    }
    case 'failed':
      return { state: 'failed', ...none, evidence: ending.evidence, detail: ending.detail } as const;
    case 'unknown':
      return { state: 'unknown', ...none, evidence: null, detail: ending.detail } as const;
  }
}

function note(tx: Tx, row: OperationRow, settledBy: string | null): void {
  const { state, evidence, detail, result_digest: resultDigest, attempt, workflow_id: workflowId, subject } = row;
  const isError = row.result_is_error === null ? null : row.result_is_error === 1;
  const body: JsonObject = { outcome: state, evidence, detail, resultDigest, isError, attempt, settledBy };
  tx.fact({
    kind: settledBy === null ? `operation.${state}` : 'operation.settled',
    operationId: row.operation_id,
    body,
  });
  const name = settledBy !== null ? 'settled' : state === 'dispatched' ? 'unknown' : state;
  tx.emit(
    operationEvent(name, row.operation_id, {
      ...body,
      workflowId,
      requester: subject,
      server: row.server,
      tool: row.tool,
    }),
  );
}

/** The attempt is over without an answer and can send nothing more: absence may be believed `settleAfter` from now. */
export async function endAttempt(
  tx: Tx,
  { operationId, attempt }: { operationId: string; attempt: number },
): Promise<void> {
  await tx.db
    .updateTable('operations')
    .set({ lease_until: tx.nowMs })
    .where('operation_id', '=', operationId)
    .where('attempt', '=', attempt)
    .where('state', '=', 'dispatched')
    .where('lease_until', '>', tx.nowMs)
    .execute();
}

/** Notes that an attempt's effect is proven absent, which lets an idempotent tool be sent to once more. */
export async function recordAbsence(
  tx: Tx,
  { operationId, attempt }: { operationId: string; attempt: number },
): Promise<boolean> {
  const result = await tx.db
    .updateTable('operations')
    .set({ absent_attempt: attempt })
    .where('operation_id', '=', operationId)
    .where('attempt', '=', attempt)
    .where('absent_attempt', '<', attempt)
    .where('state', '=', 'dispatched')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n)
    tx.fact({ kind: 'operation.absent', operationId, body: { attempt, evidence: 'lookUp' } });
  return result.numUpdatedRows === 1n;
}

export type Settled =
  { readonly ok: true; readonly state: CallState } | { readonly ok: false; readonly detail: string };

export interface Settlement {
  readonly operationId: string;
  readonly outcome: 'executed' | 'failed';
  readonly by: string;
  readonly reason: string;
  /** Whether somebody made sure that it is them; a name alone is a claim. */
  readonly verified?: boolean;
}

/** A person states an unknown outcome, with a reason; anything but an unknown one is left as it is. */
export async function settle(
  tx: Tx,
  { operationId, outcome, by, reason, verified = false }: Settlement,
): Promise<Settled> {
  const row = await operationOf(tx, operationId);
  if (row === null) return { ok: false, detail: `no operation ${operationId} was sent` };
  if (row.state !== 'unknown')
    return { ok: false, detail: `the outcome of ${operationId} is ${row.state}; only an unknown one is settled` };
  const ending: Ending =
    outcome === 'executed'
      ? { outcome, result: null, isError: false, evidence: 'settlement' }
      : { outcome, detail: reason, evidence: 'settlement' };
  tx.fact({ kind: 'operation.settlement', operationId, body: { outcome, by, reason, verified } });
  const state = await recordOutcome(tx, { operationId, ending, settledBy: by });
  return state === null ? { ok: false, detail: `no operation ${operationId} was sent` } : { ok: true, state };
}
