import { setTimeout as delay } from 'node:timers/promises';
import { msBetween, nowNs } from './clock';
import type { WaitingTurn } from './subject';

/** A decision comes long after the turn began to wait: what the start left to do must not be in the way. */
const QUIET_MS = 30;

/** From the sending of the decision to its verdict, to the effect, and to the result in the caller's hands. */
export interface DecisionTimes {
  readonly verdictMs: number;
  readonly effectMs: number;
  readonly readableMs: number;
}

/** Decides a waiting turn whose result somebody awaits already. */
export async function timeDecision(turn: WaitingTurn): Promise<DecisionTimes> {
  const ended = turn.effectNs().then((effectNs) => ({ effectNs, readableNs: nowNs() }));
  await delay(QUIET_MS);
  const startNs = nowNs();
  const decided = turn.decide().then(nowNs);
  const [{ effectNs, readableNs }, verdictNs] = await Promise.all([ended, decided]);
  return {
    verdictMs: msBetween(startNs, verdictNs),
    effectMs: msBetween(startNs, effectNs),
    readableMs: msBetween(startNs, readableNs),
  };
}

/** Runs every task `rounds` times in turns, each round beginning with another one, and answers what each gave. */
export async function interleave<T>(
  tasks: readonly (() => Promise<T>)[],
  rounds: number,
): Promise<readonly (readonly T[])[]> {
  const given: T[][] = tasks.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let step = 0; step < tasks.length; step += 1) {
      const index = (round + step) % tasks.length;
      const value = await tasks[index]?.();
      if (value !== undefined) given[index]?.push(value);
    }
  }
  return given;
}

/** Runs `work` `count` times, `callers` at once, and answers how often a second. */
export async function rateOf(count: number, callers: number, work: () => Promise<unknown>): Promise<number> {
  let left = count;
  const startMs = performance.now();
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (count / (performance.now() - startMs)) * 1_000;
}
