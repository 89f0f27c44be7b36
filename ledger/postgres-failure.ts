import { isNativeError } from 'node:util/types';
import { LedgerError, reasonOf, type LedgerErrorCode } from './ledger-error';

/** SQLSTATEs that say something about the store, not about the statement; a key of two characters is a whole class. */
const STATES: Readonly<Record<string, LedgerErrorCode>> = {
  '08': 'LEDGER_UNREACHABLE',
  '28': 'LEDGER_UNREACHABLE',
  '3D': 'LEDGER_UNREACHABLE',
  '53': 'LEDGER_UNREACHABLE',
  '53100': 'LEDGER_FULL',
  '57': 'LEDGER_UNREACHABLE',
  '57014': 'LEDGER_BUSY',
  '55P03': 'LEDGER_BUSY',
  '40': 'LEDGER_BUSY',
  '25006': 'LEDGER_READ_ONLY',
  '25P03': 'LEDGER_UNREACHABLE',
  '58': 'LEDGER_UNREACHABLE',
  XX001: 'LEDGER_DAMAGED',
  XX002: 'LEDGER_DAMAGED',
};

/** What pg and pg-pool say, without a code, of a connection that is gone or never came. */
const CONNECTION_MESSAGE = /connection|timeout|not queryable/i;

/** The failure of the store behind what pg threw; anything else is returned as it is. */
export function postgresFailure(error: unknown, ledger: string): unknown {
  if (!isNativeError(error) || error instanceof LedgerError) return error;
  const code = codeOf(error);
  return code === undefined ? error : new LedgerError(code, { ledger, detail: detailOf(error) }, error);
}

function codeOf(error: Error): LedgerErrorCode | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const isSqlState = /^[0-9A-Z]{5}$/.test(code) && 'severity' in error;
  if (isSqlState) return STATES[code] ?? STATES[code.slice(0, 2)];
  const isSystemError = 'syscall' in error || code.startsWith('E');
  return isSystemError || CONNECTION_MESSAGE.test(error.message) ? 'LEDGER_UNREACHABLE' : undefined;
}

/** Node reports a host with several addresses as one error without a message. */
function detailOf(error: Error): string {
  return 'errors' in error && Array.isArray(error.errors) ? error.errors.map(reasonOf).join('; ') : reasonOf(error);
}
