import { isNativeError } from 'node:util/types';
import { ERRORS, refusal, type ErrorCode } from '../core/errors';

export type LedgerErrorCode = Extract<ErrorCode, `LEDGER_${string}`>;

/** The store itself failed, so the step was not recorded (`LEDGER_UNCERTAIN`: perhaps it was, ask again). */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  readonly code: LedgerErrorCode;
  /** Whether the same step may succeed later without a change of the call. */
  readonly retryable: boolean;
  /** What the store itself said, or nothing. */
  readonly reason: string;

  constructor(code: LedgerErrorCode, values: Readonly<Record<string, string | number>>, cause?: unknown) {
    super(refusal(code, values).detail, { cause });
    this.code = code;
    this.retryable = ERRORS[code].retryable;
    this.reason = String(values['detail'] ?? '');
  }
}

/** The first line of what a library threw: short enough for a message, and without its stack. */
export function reasonOf(error: unknown): string {
  const text = isNativeError(error) ? error.message : String(error);
  return text.split('\n', 1)[0] ?? text;
}
