import {
  allHandlersFinished,
  CancellationScope,
  condition,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { TurnResult } from '../core/turn-packing';
import { collectFor } from './collect';
import { registerHandlers } from './decide';
import { openCalls } from './open-calls';
import { runCalls } from './run-calls';
import { endingAttributes, openingAttributes } from './search-attributes';
import { assertKnownVersion } from './turn-shape';
import { hasUnknown, newTurn, pendingRequests, propose, resultOf, take, type Turn } from './turn-state';
import { withdrawCalls } from './withdrawal';

/**
 * One agent turn: puts its calls on record, waits for decisions and due times, runs what is allowed, and answers one
 * result for each call in call order. The ledger decides and Temporal waits: killed and replayed at any point, a turn
 * asks nobody twice and sends nothing twice. Cancelling withdraws what was not sent and waits for what was.
 * @param input core's TurnInput; parsed strictly by `openRequests`, so a turn started by hand is judged alike.
 * @param collector core's Collector: who is there from the start, for a turn that is collected. No part of its content.
 */
export async function agentTurn(input: unknown, collector?: unknown): Promise<TurnResult> {
  const turn = newTurn(workflowInfo().workflowId, input);
  assertKnownVersion(input);
  collectFor(turn, collector);
  const root = CancellationScope.current();
  // One for the whole turn and its handlers: each scope is promises that wait as long as the turn.
  const shield = new CancellationScope({ cancellable: false });
  registerHandlers(turn, shield);
  void root.cancelRequested.catch(() => shield.run(() => withdrawCalls(turn, turn.calls, 'the turn was cancelled')));
  await shield.run(() => play(turn));
  return resultOf(turn);
}

async function play(turn: Turn): Promise<void> {
  propose(turn);
  const opened = await openCalls(turn);
  if (opened.ok) turn.calls.forEach((call, index) => take(turn, call, opened.states[index] ?? call.state));
  else turn.refusal = opened.refusal;
  const pending = pendingRequests(turn);
  if (pending.length > 0) upsertSearchAttributes(openingAttributes(pending));
  const ended = opened.ok ? runCalls(turn) : Promise.resolve();
  turn.open();
  await ended;
  await condition(allHandlersFinished);
  const asked = turn.events.some((event) => event.type === 'approvalRequired');
  if (asked || hasUnknown(turn)) upsertSearchAttributes(endingAttributes(hasUnknown(turn)));
}
