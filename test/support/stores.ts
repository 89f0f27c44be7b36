import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { openPostgresStore } from '../../ledger/postgres';
import { openSqliteStore } from '../../ledger/sqlite';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import type { Store } from '../../ledger/transaction';
import { recordedLog, type RecordedLog } from './recorded-log';

export const STORE_KINDS = ['sqlite', 'postgres'] as const satisfies readonly Store['kind'][];

/** A store with an empty ledger of its own. */
export interface FreshStore {
  readonly store: Store;
  /** For `openStore`, in this process or another. */
  readonly url: string;
  readonly log: RecordedLog;
  /** A second handle on the same ledger, as another process has it. */
  another(): Promise<Store>;
  /** Statements past Holdpoint, with the triggers that protect records switched off. */
  tamper(...statements: readonly string[]): Promise<void>;
  /** Closes every handle and removes the ledger. */
  remove(): Promise<void>;
}

export interface FreshStoreOptions {
  /** Epoch milliseconds; the store's own clock by default. */
  readonly clock?: () => number;
}

export async function freshStore(kind: Store['kind'], options: FreshStoreOptions = {}): Promise<FreshStore> {
  return kind === 'sqlite' ? freshSqlite(options) : freshPostgres(options);
}

async function freshSqlite(options: FreshStoreOptions): Promise<FreshStore> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-ledger-'));
  const path = join(folder, 'ledger.db');
  return withHandles({
    url: pathToFileURL(path).href,
    open: (log) => openSqliteStore({ path, log, ...options }),
    tamper: async (statements) => {
      const database = (await sqliteEngine()).open(path);
      for (const statement of [...SQLITE_UNGUARD, ...statements]) database.exec(statement);
      database.close();
    },
    drop: () => rm(folder, { recursive: true, force: true }),
  });
}

/** A schema of its own in one database: a database each would take half a second. */
async function freshPostgres(options: FreshStoreOptions): Promise<FreshStore> {
  const serverUrl = process.env['HOLDPOINT_TEST_POSTGRES'];
  if (serverUrl === undefined) throw new Error('This run started no PostgreSQL: see test/support/global-setup.ts.');
  const schema = `ledger_${randomBytes(8).toString('hex')}`;
  await postgres(serverUrl, [`create schema ${schema}`]);
  const own = new URL(serverUrl);
  own.searchParams.set('options', `-c search_path=${schema}`);
  const url = own.href;
  return withHandles({
    url,
    open: (log) => openPostgresStore({ url, log, ...options }),
    tamper: (statements) => postgres(url, [...POSTGRES_UNGUARD, ...statements]),
    drop: () => postgres(serverUrl, [`drop schema ${schema} cascade`]),
  });
}

async function postgres(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const GUARDED = ['audit', 'decisions', 'checkpoints'];
const SQLITE_UNGUARD = GUARDED.flatMap((table) =>
  ['update', 'delete'].map((change) => `drop trigger if exists ${table}_no_${change}`),
);
const POSTGRES_UNGUARD = GUARDED.map((table) => `drop trigger if exists ${table}_append_only on ${table}`);

interface Backend {
  readonly url: string;
  readonly open: (log: RecordedLog) => Promise<Store>;
  readonly tamper: (statements: readonly string[]) => Promise<void>;
  readonly drop: () => Promise<void>;
}

async function withHandles({ url, open, tamper, drop }: Backend): Promise<FreshStore> {
  const log = recordedLog();
  const store = await open(log);
  const handles = [store];
  return {
    store,
    url,
    log,
    async another() {
      const handle = await open(log);
      handles.push(handle);
      return handle;
    },
    tamper: (...statements) => tamper(statements),
    async remove() {
      await Promise.all(handles.map((handle) => handle.close()));
      await drop();
    },
  };
}
