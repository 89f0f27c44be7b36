import { fileURLToPath } from 'node:url';
import { LedgerError } from './ledger-error';
import type { Log } from './log';
import { openPostgresStore } from './postgres';
import { openSqliteStore } from './sqlite';
import type { Store } from './transaction';

/**
 * Opens the ledger that a URL names: `file:/absolute/path.db` or `postgres://…`. One of an older release is brought up to
 * this one's first, unless `migrate` is false. Throws a LedgerError.
 */
export async function openStore(
  url: string,
  log: Log,
  { migrate = true }: { readonly migrate?: boolean } = {},
): Promise<Store> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'file:' && parsed.host === '' && url.startsWith('file:/')) {
    return openSqliteStore({ path: fileURLToPath(parsed), log, migrate });
  }
  if (parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:')
    return openPostgresStore({ url, log, migrate });
  // Only its scheme: a URL may hold a password.
  const received = parsed === undefined ? 'a text that is not a URL' : `another ${parsed.protocol} URL`;
  throw new LedgerError('LEDGER_URL', { received });
}
