import type { Io } from './io';

const QUIET_MS = 1_000;

/** Awaits `work`; after a second stderr says what is being waited for, so that nobody takes patience for a hang. */
export async function withProgress<T>({ stderr }: Pick<Io, 'stderr'>, what: string, work: Promise<T>): Promise<T> {
  const startedAtMs = Date.now();
  const seen = { shown: false };
  const show = (): void => {
    const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
    // A log gets one line; a terminal gets one that counts.
    if (stderr.isTty) stderr.write(`\r… ${what} (${seconds} s)`);
    else if (!seen.shown) stderr.write(`… ${what}\n`);
    seen.shown = true;
  };
  const timer = setInterval(show, QUIET_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (seen.shown && stderr.isTty) stderr.write(`\r${' '.repeat(what.length + 12)}\r`);
  }
}
