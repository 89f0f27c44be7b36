import { setTimeout as delay } from 'node:timers/promises';

/** Polls `check` until it no longer throws, and rethrows its last error when `timeoutMs` is over. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const endMs = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= endMs) throw error;
    }
    await delay(20);
  }
}
