import { sleep } from '@temporalio/workflow';
import { advanceCalls } from './advance-calls';
import { pauseMs } from './pause';
import type { Turn, TurnCall } from './turn-state';

const SUMMARY_LENGTH = 200;

/**
 * Wakes a turn at the due times of its open requests. A timer only wakes; the ledger's row says what is due. One timer
 * for each distinct due time; one that turns out to be needless is left to fire, since cancelling it costs an event.
 */
export function createDueTimes(turn: Turn): { readonly arm: () => void } {
  const armed = new Set<number>();
  const arm = (): void => {
    for (const call of turn.calls) {
      if (call.state.status === 'pending') wakeAt(call.state.dueAtMs);
    }
  };
  const wakeAt = (dueAtMs: number): void => {
    if (armed.has(dueAtMs)) return;
    armed.add(dueAtMs);
    const restMs = Math.max(dueAtMs - Date.now(), 1);
    void sleep(restMs, { summary: summaryOf(turn, dueAtMs) }).then(() => advanceDue(dueAtMs));
  };
  const advanceDue = async (dueAtMs: number): Promise<void> => {
    // The ledger was not reached, or its clock says too early.
    for (let times = 0; await stillDue(turn, dueAtMs); times += 1) {
      await sleep(pauseMs(times), { summary: 'due time, tried again' });
    }
    armed.delete(dueAtMs);
    arm();
  };
  return { arm };
}

/** Advances every request that is due; true where one has to be tried again. */
async function stillDue(turn: Turn, dueAtMs: number): Promise<boolean> {
  const isDue = ({ state }: TurnCall) => state.status === 'pending' && state.dueAtMs <= dueAtMs;
  await advanceCalls(turn, turn.calls.filter(isDue));
  return turn.calls.some(isDue);
}

/** The label of the timer's bar in the Temporal UI. */
function summaryOf(turn: Turn, dueAtMs: number): string {
  const due = turn.calls.flatMap(({ state }) =>
    state.status === 'pending' && state.dueAtMs === dueAtMs ? [state.request] : [],
  );
  const what = due.some((request) => request.deadlineAtMs === dueAtMs) ? 'deadline' : 'escalation or reminder';
  return `${what} of ${due.map((request) => request.shortId).join(', ')}`.slice(0, SUMMARY_LENGTH);
}
