import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { Client } from 'pg';
import type { Ledger } from '../../ledger/ledger';
import { LedgerError } from '../../ledger/ledger-error';
import { sqliteEngine, type SqliteDatabase } from '../../ledger/sqlite-engine';
import type { Store } from '../../ledger/transaction';

/** What befalls the store itself while processes use it; `mend` takes it back. */
export interface LedgerFault {
  readonly kind: Store['kind'];
  /** Whether who writes is told so, or kept waiting. */
  readonly refuses: boolean;
  strike(at: { readonly ledger: Ledger; readonly url: string }): Promise<() => Promise<void>>;
}

const NO_LIMIT = 1_073_741_823;
const MOST_FACTS = 500;

/** SQLite's own limit of pages stands for the end of the disk; what is left in its last page is filled up first. */
async function fillDisk({ ledger }: { readonly ledger: Ledger }): Promise<() => Promise<void>> {
  const limit = (pages: number) =>
    ledger.store.write((tx) => sql.raw(`pragma max_page_count = ${pages}`).execute(tx.db));
  await limit(1);
  for (let facts = 0; facts < MOST_FACTS; facts += 1) {
    const full = await ledger.recordDecision({ nothing: facts }, 'nobody').then(
      () => false,
      (error: unknown) => error instanceof LedgerError && error.code === 'LEDGER_FULL',
    );
    if (full) return () => limit(NO_LIMIT).then(() => undefined);
  }
  throw new Error(`${MOST_FACTS} facts did not fill the disk`);
}

async function lockFile({ url }: { readonly url: string }): Promise<() => Promise<void>> {
  const other: SqliteDatabase = (await sqliteEngine()).open(fileURLToPath(url));
  other.exec('begin immediate');
  return () => {
    other.exec('rollback');
    other.close();
    return Promise.resolve();
  };
}

async function lockHead({ url }: { readonly url: string }): Promise<() => Promise<void>> {
  const other = await connected(url);
  await other.query('begin');
  await other.query('lock table audit_heads in access exclusive mode');
  return () => other.end();
}

async function readOnlyServer({ url }: { readonly url: string }): Promise<() => Promise<void>> {
  const database = new URL(url).pathname.slice(1);
  const set = async (value: 'on' | 'off') => {
    const other = await connected(url);
    await other.query('set session characteristics as transaction read write');
    await other.query(`alter database ${database} set default_transaction_read_only = ${value}`);
    await other.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [database],
    );
    await other.end();
  };
  await set('on');
  return () => set('off');
}

async function connected(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  // Its end, when the database is dropped, is nobody's concern.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Real faults of a store: each makes it refuse to write, and most still let it be read. */
export const LEDGER_FAULTS = {
  'a full disk': { kind: 'sqlite', refuses: true, strike: fillDisk },
  'a lock that another process holds': { kind: 'sqlite', refuses: false, strike: lockFile },
  'a read-only server': { kind: 'postgres', refuses: true, strike: readOnlyServer },
  'a lock on the head of the audit chain': { kind: 'postgres', refuses: false, strike: lockHead },
} as const satisfies Readonly<Record<string, LedgerFault>>;
