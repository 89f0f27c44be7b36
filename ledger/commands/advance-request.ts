import { transition } from '../../core/call';
import type { CallState } from '../../core/call-state';
import { enoughReviewers } from '../../core/judge-decision';
import type { Policy } from '../../core/policy';
import { cardOf, lifeOf, stateOfOperation, stateOfRequest, type RequestRow } from '../rows';
import type { Tx } from '../transaction';
import { requestEvent } from './events';
import { decisionsOf, lockLatestRequest, operationOf } from './locate';
import { lookUpAt } from './read-call';
import { closeRequest } from './close-request';

/**
 * Does what is due on a request by the store's clock: escalates, reminds, expires, or refuses where too few reviewers
 * are left. A wake that comes too early changes nothing. Answers the call's state; null where no request is known.
 */
export async function advanceRequest(
  tx: Tx,
  { operationId, policy, trust }: People & { readonly operationId: string },
): Promise<CallState | null> {
  const operation = await operationOf(tx, operationId);
  if (operation !== null) return stateOfOperation(operation, lookUpAt(operation));
  const row = await lockLatestRequest(tx, operationId);
  if (row === null) return null;
  const next = row.state === 'pending' ? await advance(tx, row, { policy, trust }) : row;
  return stateOfRequest(next, await decisionsOf(tx, operationId));
}

type People = { readonly policy: Policy; readonly trust: 'signatures' | 'namespace' };

/** A locked row as it stands by now: a decision may come before the timer of what was due is heard. */
export async function caughtUp(tx: Tx, row: RequestRow, people: People): Promise<RequestRow> {
  return row.state === 'pending' && row.due_at <= tx.nowMs ? advance(tx, row, people) : row;
}

async function advance(tx: Tx, row: RequestRow, by: People): Promise<RequestRow> {
  const before = lifeOf(row);
  const { ask, requester } = cardOf(row);
  let life = transition(before, { type: 'wake' }, tx.nowMs);
  while (life.status === 'pending' && !enoughReviewers({ life, ask, requester, policy: by.policy }, by.trust)) {
    life = transition(life, { type: 'noReviewers' }, tx.nowMs);
  }
  if (life.status === 'pending') return wait(tx, row, life);
  const state = life.status === 'expired' ? 'expired' : 'refused';
  const rule = ask.rule?.id ?? 'confirm';
  const reason =
    state === 'expired' ? 'the deadline passed' : `NO_REVIEWERS: too few reviewers of rule ${rule} are left`;
  return closeRequest(tx, row, { state, reason });
}

async function wait(tx: Tx, row: RequestRow, life: { level: number; dueAtMs: number }): Promise<RequestRow> {
  if (life.level === row.level && life.dueAtMs === row.due_at) return row;
  await tx.db
    .updateTable('requests')
    .set({ level: life.level, due_at: life.dueAtMs })
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .execute();
  const escalated = life.level > row.level;
  const body = { revision: row.revision, level: life.level, dueAtMs: life.dueAtMs };
  tx.fact({ kind: escalated ? 'request.escalated' : 'request.reminded', operationId: row.operation_id, body });
  const more = escalated ? { level: life.level } : { atMs: row.due_at };
  tx.emit(requestEvent(escalated ? 'escalated' : 'reminded', cardOf(row), more));
  return { ...row, level: life.level, due_at: life.dueAtMs };
}
