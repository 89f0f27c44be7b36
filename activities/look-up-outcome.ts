import type { CallState } from '../core/call-state';
import type { LookUp, OperationRow } from '../ledger/rows';
import { contractOf, stateOfOperation } from '../ledger/rows';
import { lookUpAt } from '../ledger/commands/read-call';
import type { Ending } from '../ledger/commands/outcomes';
import type { Dependencies } from './dependencies';
import { askOutcome, type FoundOutcome } from './look-up';
import { holdsToken } from './masking';

/** The least pause before an unreachable or unsettled look-up is asked again; it grows by half of what it took so far. */
const ASK_AGAIN_MS = 5_000;

/** `attempt` is what a further `runTool` has to name, where the state is `allowed`. */
export interface LookedUp {
  readonly state: CallState;
  readonly attempt: number;
}

/**
 * Finds out how a sent operation ended whose attempt gave no answer. Only reads at the tool, and writes outcomes that
 * are written once, so it may run twice at once. Proof of the effect is believed at any time; its absence only after no
 * attempt can still be sending and the tool had time to settle.
 */
export async function lookUpOutcome(deps: Dependencies, operationId: string): Promise<LookedUp> {
  const row = await deps.ledger.operation(operationId);
  // No row: the transaction before the first byte never committed, so nothing was sent.
  if (row === null) return { state: { status: 'allowed', revision: 0 }, attempt: 1 };
  if (row.state !== 'dispatched') return { state: stateOfOperation(row, lookUpAt(row)), attempt: row.attempt };
  if (row.absent_attempt === row.attempt) return again(row);
  const lookUp = contractOf(row);
  return lookUp === null ? withoutLookUp(deps, row) : ask(deps, row, lookUp);
}

/** While the lease lasts, the attempt may only be cut off from Temporal, and its answer still be written to the row. */
async function withoutLookUp(deps: Dependencies, row: OperationRow): Promise<LookedUp> {
  const nowMs = await deps.ledger.store.nowMs();
  if (nowMs < row.lease_until) return later(row, askAgainAt(nowMs, row.dispatched_at, row.lease_until));
  return end(deps, row, { outcome: 'unknown', detail: 'the tool declares no way to look the outcome up' });
}

async function ask(deps: Dependencies, row: OperationRow, lookUp: LookUp): Promise<LookedUp> {
  const { operation_id: operationId } = row;
  const found = await askOutcome(lookUp.contract, {
    operationId,
    arguments: lookUp.arguments,
    server: lookUp.server,
    servers: deps.servers,
    resolveSecret: deps.resolveSecret,
  });
  const nowMs = await deps.ledger.store.nowMs();
  switch (found.kind) {
    case 'executed': {
      const result = found.result === null ? null : JSON.stringify(found.result);
      return end(deps, row, { outcome: 'executed', result, isError: false, evidence: 'lookUp' });
    }
    case 'absent':
      if (nowMs >= lookUpAt(row)) return absent(deps, row, lookUp);
      return later(row, askAgainAt(nowMs, row.dispatched_at, lookUpAt(row)));
    case 'notYet':
    case 'unreachable': {
      const endsAtMs = lookUpAt(row) + lookUp.contract.budgetMs;
      if (nowMs < endsAtMs) return later(row, askAgainAt(nowMs, row.lease_until, endsAtMs));
      return end(deps, row, {
        outcome: 'unknown',
        detail: `the outcome could not be looked up in time: ${wordsOf(found, lookUp)}`,
      });
    }
  }
}

/** The source may repeat secrets of the call, which are not at hand here any more to be hidden. */
function wordsOf({ kind, detail }: FoundOutcome & { readonly detail: string }, lookUp: LookUp): string {
  const mayRepeat = kind === 'unreachable' && holdsToken(lookUp.arguments);
  return mayRepeat ? 'the source gave no usable answer; its words are left out, because the call has secrets' : detail;
}

/** Less and less often, since each time adds to the turn's history. */
function askAgainAt(nowMs: number, sinceMs: number, endsAtMs: number): number {
  return Math.min(nowMs + Math.max(ASK_AGAIN_MS, (nowMs - sinceMs) / 2), endsAtMs);
}

const MOST_ATTEMPTS = 3;

async function absent(deps: Dependencies, row: OperationRow, lookUp: LookUp): Promise<LookedUp> {
  const { operation_id: operationId, attempt } = row;
  if (lookUp.idempotent && attempt < MOST_ATTEMPTS) {
    const isFirst = await deps.ledger.recordAbsence(operationId, attempt);
    // Another look-up was first, and its next attempt may be under way: the row says so.
    return isFirst ? again(row) : lookUpOutcome(deps, operationId);
  }
  const detail = 'the tool has no record of this operation: nothing was done';
  return end(deps, row, { outcome: 'failed', detail, evidence: 'lookUp', attempt });
}

function again(row: OperationRow): LookedUp {
  return { state: { status: 'allowed', revision: row.revision }, attempt: row.attempt + 1 };
}

function later(row: OperationRow, lookUpAtMs: number): LookedUp {
  return { state: { status: 'dispatched', lookUpAtMs }, attempt: row.attempt };
}

async function end(deps: Dependencies, row: OperationRow, ending: Ending): Promise<LookedUp> {
  const state = await deps.ledger.recordOutcome(row.operation_id, ending);
  return { state: state ?? stateOfOperation(row, lookUpAt(row)), attempt: row.attempt };
}
