import { fileURLToPath } from 'node:url';
import { LedgerError } from './ledger-error';
import type { Log } from './log';
import { openPostgresStore } from './postgres';
import { openSqliteStore } from './sqlite';
import type { Store } from './transaction';

/** Opens the ledger that a URL names: `file:/absolute/path.db` or `postgres://…`. Throws a LedgerError. */
export async function openStore(url: string, log: Log): Promise<Store> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'file:' && parsed.host === '' && url.startsWith('file:/')) {
    return openSqliteStore({ path: fileURLToPath(parsed), log });
  }
  if (parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:') return openPostgresStore({ url, log });
  // Only its scheme: a URL may hold a password.
  const received = parsed === undefined ? 'a text that is not a URL' : `another ${parsed.protocol} URL`;
  throw new LedgerError('LEDGER_URL', { received });
}
