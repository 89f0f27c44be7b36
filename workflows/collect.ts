import { sleep, TimeoutFailure, type ActivityFailure } from '@temporalio/workflow';
import { ONCE_GRANT_MS } from '../core/grant';
import type { Collector } from '../core/turn';
import { readCollector } from './turn-shape';
import type { Turn, TurnCall } from './turn-state';

/** How long a collector's process may take to take up what is sent to it; longer, and nobody is there. */
const TAKEN_UP_WITHIN = '5s';

/** Where an activity runs, and who collects there. */
export interface Place {
  readonly collector: Collector | undefined;
  readonly options: { readonly taskQueue?: string; readonly scheduleToStartTimeout?: '5s' };
}

/** Notes that somebody is there to take the results of a turn that is collected, and lets what waits for that go on. */
export function collectFor(turn: Turn, message: unknown): void {
  const taskQueue = readCollector(message);
  if (!turn.collected || taskQueue === null) return;
  // A new one, also for the same queue: what was sent before may yet find that whoever was there then has left.
  const others = turn.collectors.filter((known) => known.taskQueue !== taskQueue);
  turn.collectors.splice(0, Infinity, ...others, { taskQueue });
  for (const call of turn.calls) turn.changed(call);
}

/** Where an activity of a turn is to run: with the latest collector; for any other turn, where the turn runs. */
export function placeOf({ collectors }: Turn): Place {
  const collector = collectors.at(-1);
  if (collector === undefined) return { collector, options: {} };
  return { collector, options: { taskQueue: collector.taskQueue, scheduleToStartTimeout: TAKEN_UP_WITHIN } };
}

/**
 * Takes a call back that was allowed and that nobody has come to collect for as long as its grant holds. Told at each
 * step of a call whether it waits for that: what was collected, or went back to review, waits as long again.
 */
export function createPatience(turn: Turn): (call: TurnCall, isWaiting: boolean) => void {
  const sinceMs = new Map<TurnCall, number>();
  const armed = new Set<TurnCall>();
  const arm = (call: TurnCall, restMs: number): void => {
    armed.add(call);
    void sleep(restMs, { summary: 'nobody has collected it' }).then(() => {
      armed.delete(call);
      const since = sinceMs.get(call);
      if (since === undefined) return;
      const leftMs = since + ONCE_GRANT_MS - Date.now();
      if (leftMs > 0) {
        arm(call, leftMs);
        return;
      }
      call.withdrawReason ??= 'it was allowed, and nobody came to take its result within 24 hours';
      turn.changed(call);
    });
  };
  return (call, isWaiting) => {
    if (!isWaiting) sinceMs.delete(call);
    else if (!sinceMs.has(call)) sinceMs.set(call, Date.now());
    if (isWaiting && !armed.has(call)) arm(call, ONCE_GRANT_MS);
  };
}

/** Whoever said to be there is not any more; who has said so since is. */
export function forget(turn: Turn, { collector }: Place): void {
  const at = collector === undefined ? -1 : turn.collectors.indexOf(collector);
  if (at >= 0) turn.collectors.splice(at, 1);
}

/** True where a process never took the activity up: nothing of it was done. */
export function wasNotTakenUp(error: ActivityFailure): boolean {
  return error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'SCHEDULE_TO_START';
}
