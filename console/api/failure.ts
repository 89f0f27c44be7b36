import { HTTPException } from 'hono/http-exception';
import type { Log } from '../../ledger/log';
import { LedgerError } from '../../ledger/ledger-error';
import { HoldpointError } from '../../client/errors';
import { ERRORS } from '../../core/errors';
import { BadCursor } from '../gather';
import { problem } from './problem';

const RETRY_AFTER_S = 1;

/** The answer to what a handler threw. What nobody expected is logged, and its text stays here. */
export function failure(error: unknown, { path, log }: { readonly path: string; readonly log: Log }): Response {
  if (error instanceof BadCursor) return problem({ code: 'INVALID_CURSOR', detail: CURSOR });
  if (error instanceof LedgerError || (error instanceof HoldpointError && ERRORS[error.code].retryable)) {
    log.warn({ path, code: error.code }, 'console.api.unavailable');
    return problem({
      code: 'UNAVAILABLE',
      detail: error.message,
      cause: error.code,
      ...(ERRORS[error.code].retryable && { retryAfterS: RETRY_AFTER_S }),
    });
  }
  if (error instanceof HTTPException && error.status === 415) return problem({ code: 'UNSUPPORTED_MEDIA_TYPE' });
  if (error instanceof HTTPException && error.status < 500)
    return problem({ code: 'INVALID_REQUEST', detail: error.message });
  log.error(
    { path, error: error instanceof Error ? (error.stack ?? error.message) : String(error) },
    'console.api.failed',
  );
  return problem({ code: 'INTERNAL', detail: 'The console failed at this request, and has logged it. Try again.' });
}

const CURSOR = 'A cursor is the "next" of an earlier answer to the same list. Leave it out to begin at the first page.';
