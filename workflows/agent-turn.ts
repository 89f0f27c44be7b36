import {
  allHandlersFinished,
  ActivityFailure,
  CancellationScope,
  condition,
  log,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallState } from '../core/call-state';
import { cut, showText } from '../core/display';
import { resultShare } from '../core/turn';
import type { TurnResult } from '../core/turn-packing';
import type { LookedUp } from '../activities';
import { lookUpOutcome, openRequests, recordOutcome, runTool, withdrawCall } from './activity-proxies';
import { advanceCalls } from './advance-calls';
import { createDetails } from './details';
import { registerHandlers } from './decide';
import { createDueTimes } from './due-times';
import { pauseMs } from './pause';
import { endingAttributes, openingAttributes } from './search-attributes';
import { assertKnownVersion } from './turn-shape';
import {
  hasUnknown,
  isPending,
  newTurn,
  pendingRequests,
  propose,
  resultOf,
  take,
  type Turn,
  type TurnCall,
} from './turn-state';

/**
 * One agent turn: puts its calls on record, waits for decisions and due times, runs what is allowed, and answers one
 * result for each call in call order. Calls wait and run side by side; an allowed one does not wait for its siblings.
 * The ledger decides and Temporal waits: killed and replayed at any point, a turn asks nobody twice and sends nothing twice.
 * Cancelling withdraws what was not sent and waits for what was.
 * @param input core's TurnInput; parsed strictly by `openRequests`, so a turn started by hand is judged alike.
 */
export async function agentTurn(input: unknown): Promise<TurnResult> {
  const turn = newTurn(workflowInfo().workflowId, input);
  assertKnownVersion(input);
  const times = createDueTimes(turn);
  const nudged = { count: 0 };
  registerHandlers(turn, () => (nudged.count += 1));
  void CancellationScope.current().cancelRequested.catch(() => withdrawAll(turn));
  return CancellationScope.nonCancellable(async () => {
    await openTurn(turn);
    if (turn.refusal === null) await runCalls(turn, { times, nudged });
    await condition(allHandlersFinished);
    const asked = turn.events.some((event) => event.type === 'approvalRequired');
    if (asked || hasUnknown(turn)) upsertSearchAttributes(endingAttributes(hasUnknown(turn)));
    return resultOf(turn);
  });
}

async function openTurn(turn: Turn): Promise<void> {
  propose(turn);
  const summary = `puts ${turn.calls.length} call(s) on record`;
  const opened = await openRequests.executeWithOptions({ summary }, [
    { workflowId: turn.workflowId, turn: turn.input },
  ]);
  if (opened.ok) turn.calls.forEach((call, index) => take(turn, call, opened.states[index] ?? call.state));
  else turn.refusal = opened.refusal;
  const pending = pendingRequests(turn);
  if (pending.length > 0) upsertSearchAttributes(openingAttributes(pending));
  turn.opened = true;
}

interface Clockwork {
  readonly times: { readonly arm: () => void };
  readonly nudged: { count: number };
}

async function runCalls(turn: Turn, { times, nudged }: Clockwork): Promise<void> {
  const shared = { arm: times.arm, details: createDetails(turn) };
  const rounds = turn.calls.map((call) => drive(turn, call, shared));
  void followNudges(turn, nudged);
  times.arm();
  await Promise.all(rounds);
}

interface Shared {
  readonly arm: () => void;
  readonly details: () => string;
}

async function drive(turn: Turn, call: TurnCall, { arm, details }: Shared): Promise<void> {
  let attempt = 1;
  for (let lookedUp = 0; ;) {
    setCurrentDetails(details());
    switch (call.state.status) {
      case 'ended':
        return;
      case 'pending':
        arm();
        await condition(() => !isPending(call) || call.withdrawReason !== null);
        if (isPending(call)) await takeBack(turn, call);
        break;
      case 'proposed':
      case 'allowed':
        if (call.withdrawReason !== null) await takeBack(turn, call);
        else await run(turn, call, attempt);
        break;
      case 'dispatched': {
        const found = await lookUp(call.operationId, call.state, lookedUp);
        lookedUp += 1;
        attempt = found.attempt;
        take(turn, call, found.state);
      }
    }
  }
}

async function run(turn: Turn, call: TurnCall, attempt: number): Promise<void> {
  const { turnId, requester, workflowId } = turn;
  const resultBytes = resultShare(turn.calls.length);
  const input = { turn: { turnId, requester, workflowId }, call: call.proposed, attempt, resultBytes };
  const summary = cut(showText(`${call.proposed.server}: ${call.proposed.tool}`), 200);
  try {
    const { state, unrecorded } = await runTool.executeWithOptions({ summary }, [input]);
    if (unrecorded !== null) await recordOutcome({ operationId: call.operationId, ending: unrecorded });
    take(turn, call, state);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('an attempt ended without an answer; its outcome is looked up', { operationId: call.operationId });
    take(turn, call, { status: 'dispatched', lookUpAtMs: 0 });
  }
}

/** At once the first time. Afterwards never in a tight loop, whatever the ledger's clock says or keeps failing. */
async function lookUp(
  operationId: string,
  state: CallState & { status: 'dispatched' },
  lookedUp: number,
): Promise<LookedUp> {
  const restMs = Math.max(state.lookUpAtMs - Date.now(), lookedUp === 0 ? 0 : pauseMs(lookedUp - 1));
  if (restMs > 0) await sleep(restMs, { summary: 'before the outcome is looked up' });
  return lookUpOutcome.executeWithOptions({ summary: `how ${operationId} ended` }, [operationId]);
}

async function takeBack(turn: Turn, call: TurnCall): Promise<void> {
  const reason = call.withdrawReason ?? 'withdrawn';
  const state = await withdrawCall({ operationId: call.operationId, reason });
  take(turn, call, state ?? { status: 'ended', end: { outcome: 'withdrawn', detail: reason } });
}

function withdrawAll(turn: Turn): void {
  for (const call of turn.calls) call.withdrawReason ??= 'the turn was cancelled';
}

/** The ledger knows more than the turn (an accepted decision whose answer was lost): the rows are read again. */
async function followNudges(turn: Turn, nudged: { count: number }): Promise<void> {
  for (let seen = 0; ;) {
    await condition(() => nudged.count > seen);
    seen = nudged.count;
    await advanceCalls(turn, turn.calls);
  }
}
