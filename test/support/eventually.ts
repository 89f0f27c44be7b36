import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** What one poll counts at most: a machine that stood still has given nobody time to work. */
const LONGEST_POLL_MS = 500;

/** Polls `check` until it no longer throws, and rethrows its last error once `timeoutMs` were spent on it. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  for (let spentMs = 0; ;) {
    const startedMs = performance.now();
    try {
      return await check();
    } catch (error) {
      if (spentMs >= timeoutMs) throw error;
    }
    await delay(POLL_MS);
    spentMs += Math.min(performance.now() - startedMs, LONGEST_POLL_MS);
  }
}
