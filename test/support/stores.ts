import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { APPEND_ONLY, appendOnlyTrigger } from '../../ledger/migrations/0001-guards';
import { openPostgresStore } from '../../ledger/postgres';
import { openSqliteStore } from '../../ledger/sqlite';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import type { Store } from '../../ledger/transaction';
import { workerDatabase } from './postgres';
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
  /** Statements past Holdpoint; the triggers that protect records are switched off meanwhile. */
  tamper(...statements: readonly string[]): Promise<void>;
  /** Statements past Holdpoint, with the triggers as they are. */
  change(...statements: readonly string[]): Promise<void>;
  /** Closes every handle and removes the ledger. */
  remove(): Promise<void>;
}

export interface FreshStoreOptions {
  /** Epoch milliseconds; the store's own clock by default. */
  readonly clock?: () => number;
}

export async function freshStore(kind: Store['kind'], options: FreshStoreOptions = {}): Promise<FreshStore> {
  const place = await freshPlace(kind);
  const log = recordedLog();
  const open = () => place.open({ log, ...options });
  const store = await open();
  const handles = [store];
  return {
    store,
    url: place.url,
    log,
    async another() {
      const handle = await open();
      handles.push(handle);
      return handle;
    },
    tamper: (...statements) => place.tamper(statements),
    change: (...statements) => place.change(statements),
    async remove() {
      await Promise.all(handles.map((handle) => handle.close()));
      await place.remove();
    },
  };
}

/** Where a ledger may be made; nothing is there yet. */
export interface FreshPlace {
  readonly url: string;
  open(options: FreshStoreOptions & { readonly log: RecordedLog }): Promise<Store>;
  tamper(statements: readonly string[]): Promise<void>;
  change(statements: readonly string[]): Promise<void>;
  remove(): Promise<void>;
}

export async function freshPlace(kind: Store['kind']): Promise<FreshPlace> {
  return kind === 'sqlite' ? freshFile() : freshSchema();
}

const SQLITE_UNGUARD = APPEND_ONLY.flatMap((table) =>
  ['update', 'delete'].map((change) => `drop trigger if exists ${table}_no_${change}`),
);
const SQLITE_GUARD = APPEND_ONLY.flatMap((table) => appendOnlyTrigger(table, 'sqlite'));
const postgresTriggers = (verb: 'disable' | 'enable') =>
  APPEND_ONLY.map((table) => `alter table ${table} ${verb} trigger ${table}_append_only`);

async function freshFile(): Promise<FreshPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-ledger-'));
  const path = join(folder, 'ledger.db');
  const change = async (statements: readonly string[]) => {
    const database = (await sqliteEngine()).open(path);
    for (const statement of statements) database.exec(statement);
    database.close();
  };
  return {
    url: pathToFileURL(path).href,
    open: (options) => openSqliteStore({ path, ...options }),
    tamper: (statements) => change([...SQLITE_UNGUARD, ...statements, ...SQLITE_GUARD]),
    change,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A schema of its own in one database: a database each would take half a second. */
async function freshSchema(): Promise<FreshPlace> {
  const databaseUrl = await workerDatabase();
  const schema = `ledger_${randomBytes(8).toString('hex')}`;
  await postgres(databaseUrl, [`create schema ${schema}`]);
  const own = new URL(databaseUrl);
  own.searchParams.set('options', `-c search_path=${schema}`);
  const url = own.href;
  return {
    url,
    open: (options) => openPostgresStore({ url, ...options }),
    tamper: (statements) =>
      postgres(url, [...postgresTriggers('disable'), ...statements, ...postgresTriggers('enable')]),
    change: (statements) => postgres(url, statements),
    remove: () => postgres(databaseUrl, [`drop schema ${schema} cascade`]),
  };
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
