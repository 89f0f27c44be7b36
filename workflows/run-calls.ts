import { ActivityFailure, log, setCurrentDetails, sleep } from '@temporalio/workflow';
import { cut, showText } from '../core/display';
import { resultShare } from '../core/turn';
import { lookUpOutcome, recordOutcome, runTool, withdrawCall } from './activity-proxies';
import { createPatience, forget, placeOf, wasNotTakenUp } from './collect';
import { createDetails } from './details';
import { createDueTimes } from './due-times';
import { pauseMs } from './pause';
import { take, type Turn, type TurnCall } from './turn-state';

/**
 * Takes every call to its end; settles when all have ended. Calls wait and run side by side: an allowed one does not wait
 * for its siblings. What waits holds no promise of its own: the SDK keeps a stack trace for each, which in thousands of
 * waiting turns is most of their memory.
 */
export function runCalls(turn: Turn): Promise<void> {
  const detailsOfNow = createDetails(turn);
  const { arm } = createDueTimes(turn);
  const patience = createPatience(turn);
  const busy = new Set<TurnCall>();
  const recalled = new Set<TurnCall>();
  return new Promise((ended, failed) => {
    const recall = (call: TurnCall): void => {
      if (!mayBeRecalled(call) || recalled.has(call)) return;
      recalled.add(call);
      takeBack(turn, call, call.withdrawReason ?? '').catch(failed);
    };
    const step = (call: TurnCall): void => {
      if (busy.has(call)) {
        recall(call);
        return;
      }
      setCurrentDetails(detailsOfNow());
      const work = workOn(turn, call);
      patience(call, work === null && (call.state.status === 'allowed' || call.state.status === 'proposed'));
      if (work === null) {
        arm();
        if (turn.calls.every(({ state }) => state.status === 'ended')) ended();
        return;
      }
      busy.add(call);
      work.then(() => {
        busy.delete(call);
        step(call);
      }, failed);
    };
    turn.changed = step;
    turn.calls.forEach(step);
  });
}

/** What is to be done for a call now; null while people decide, while nobody collects it, and when it has ended. */
function workOn(turn: Turn, call: TurnCall): Promise<void> | null {
  switch (call.state.status) {
    case 'ended':
      return null;
    case 'pending':
      return call.withdrawReason === null ? null : takeBack(turn, call, call.withdrawReason);
    case 'proposed':
    case 'allowed':
      if (call.withdrawReason !== null) return takeBack(turn, call, call.withdrawReason);
      return turn.collected && turn.collectors.length === 0 ? null : run(turn, call);
    case 'dispatched':
      return lookUp(turn, call, call.state.lookUpAtMs);
  }
}

/** Taken back while it is run: it may still be at the re-check, which waits for a server that is away. */
function mayBeRecalled({ state, withdrawReason }: TurnCall): boolean {
  return withdrawReason !== null && (state.status === 'allowed' || state.status === 'proposed');
}

async function run(turn: Turn, call: TurnCall): Promise<void> {
  const { turnId, requester, workflowId } = turn;
  const resultBytes = resultShare(turn.calls.length);
  const input = { turn: { turnId, requester, workflowId }, call: call.proposed, attempt: call.attempt, resultBytes };
  const summary = cut(showText(`${call.proposed.server}: ${call.proposed.tool}`), 200);
  const place = placeOf(turn);
  try {
    const { state, unrecorded, nobodyThere } = await runTool.executeWithOptions({ summary, ...place.options }, [input]);
    if (nobodyThere === true) {
      forget(turn, place);
      return;
    }
    if (unrecorded !== null) await recordOutcome({ operationId: call.operationId, ending: unrecorded });
    take(turn, call, state);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    if (wasNotTakenUp(error)) {
      forget(turn, place);
      return;
    }
    log.warn('an attempt ended without an answer; its outcome is looked up', { operationId: call.operationId });
    take(turn, call, { status: 'dispatched', lookUpAtMs: 0 });
  }
}

/** At once the first time. Afterwards never in a tight loop, whatever the ledger's clock says or keeps failing. */
async function lookUp(turn: Turn, call: TurnCall, lookUpAtMs: number): Promise<void> {
  const { operationId, lookUps } = call;
  const restMs = Math.max(lookUpAtMs - Date.now(), lookUps === 0 ? 0 : pauseMs(lookUps - 1));
  if (restMs > 0) await sleep(restMs, { summary: 'before the outcome is looked up' });
  const summary = `how ${operationId} ended`;
  const found = await lookUpOutcome.executeWithOptions({ summary }, [operationId]);
  call.lookUps += 1;
  call.attempt = found.attempt;
  take(turn, call, found.state);
}

async function takeBack(turn: Turn, call: TurnCall, reason: string): Promise<void> {
  const state = await withdrawCall({ operationId: call.operationId, reason });
  // What was run meanwhile has its end already.
  if (call.state.status !== 'ended') take(turn, call, state);
}
