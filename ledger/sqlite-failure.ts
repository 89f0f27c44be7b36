import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import { LedgerError, reasonOf, type LedgerErrorCode } from './ledger-error';

const MAX_STEP_MS = 20;

/** Primary result codes of SQLite that say something about the store, not about the statement. */
const CODES: Readonly<Record<number, LedgerErrorCode>> = {
  5: 'LEDGER_BUSY',
  6: 'LEDGER_BUSY',
  8: 'LEDGER_READ_ONLY',
  10: 'LEDGER_UNREACHABLE',
  11: 'LEDGER_DAMAGED',
  13: 'LEDGER_FULL',
  14: 'LEDGER_UNREACHABLE',
  26: 'LEDGER_DAMAGED',
};

/** The failure of the store behind what SQLite threw; anything else is returned as it is. */
export function sqliteFailure(error: unknown, ledger: string): unknown {
  // Not `instanceof`: the module makes its errors in Node's own realm, which need not be the caller's.
  if (!isNativeError(error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  // The low byte is the primary code; the rest says more precisely why.
  const code = CODES[error.errcode & 0xff];
  return code === undefined ? error : new LedgerError(code, { ledger, detail: reasonOf(error) }, error);
}

/**
 * Runs `step` until nobody else holds the lock. SQLite's own busy_timeout would sleep inside the event loop; this waits
 * on a timer, at random so that processes do not meet again, and gives up after `maxWaitMs` with LEDGER_BUSY.
 */
export async function retryWhileBusy<T>(maxWaitMs: number, step: () => T): Promise<T> {
  const endMs = performance.now() + maxWaitMs;
  for (;;) {
    try {
      return step();
    } catch (error) {
      const busy = error instanceof LedgerError && error.code === 'LEDGER_BUSY';
      if (!busy || performance.now() >= endMs) throw error;
    }
    await delay(Math.random() * MAX_STEP_MS);
  }
}
