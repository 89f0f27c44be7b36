import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import { LedgerError, reasonOf, type LedgerErrorCode } from './ledger-error';

const MAX_STEP_MS = 20;

interface Failure {
  /** Primary result code of SQLite. */
  readonly result: number;
  /** What SQLite says with it. One module gives nothing else where a statement with rows fails. */
  readonly text: string;
  readonly code: LedgerErrorCode;
}

/** The results that say something about the store, not about the statement. */
const FAILURES: readonly Failure[] = [
  { result: 5, text: 'database is locked', code: 'LEDGER_BUSY' },
  { result: 6, text: 'database table is locked', code: 'LEDGER_BUSY' },
  { result: 8, text: 'attempt to write a readonly database', code: 'LEDGER_READ_ONLY' },
  { result: 10, text: 'disk I/O error', code: 'LEDGER_UNREACHABLE' },
  { result: 11, text: 'database disk image is malformed', code: 'LEDGER_DAMAGED' },
  { result: 13, text: 'database or disk is full', code: 'LEDGER_FULL' },
  { result: 14, text: 'unable to open database file', code: 'LEDGER_UNREACHABLE' },
  { result: 26, text: 'file is not a database', code: 'LEDGER_DAMAGED' },
];

/** The failure of the store behind what SQLite threw; anything else is returned as it is. */
export function sqliteFailure(error: unknown, ledger: string): unknown {
  // Not `instanceof`: the module makes its errors in Node's own realm, which need not be the caller's.
  if (!isNativeError(error) || !('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return error;
  // The low byte is the primary code; the rest says more precisely why.
  const result = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
  const failure = FAILURES.find((known) =>
    result === undefined ? error.message === known.text : result === known.result,
  );
  return failure === undefined ? error : new LedgerError(failure.code, { ledger, detail: reasonOf(error) }, error);
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
