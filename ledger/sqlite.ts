import { stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Kysely } from 'kysely';
import { sqliteAppend } from './audit-append';
import { LedgerError } from './ledger-error';
import type { Log } from './log';
import { readEpoch } from './meta';
import { ledgerState, migrate } from './migrations';
import type { Database } from './schema';
import { sqliteDialect } from './sqlite-dialect';
import { sqliteEngine, type SqliteDatabase, type SqliteEngine } from './sqlite-engine';
import { retryWhileBusy, sqliteFailure } from './sqlite-failure';
import type { Store } from './transaction';
import { createWriter } from './writer';

export interface SqliteStoreOptions {
  readonly path: string;
  readonly log: Log;
  /** Epoch milliseconds; the machine's clock by default. */
  readonly clock?: () => number;
  /** False: an older ledger is refused (LEDGER_OLDER) instead of changed. */
  readonly migrate?: boolean;
  /** How long a lock that another process holds is waited for: 15 s by default, then LEDGER_BUSY. */
  readonly maxWaitMs?: number;
  /** Pages of 4 KiB that the file may have; without it the disk is the limit. */
  readonly maxPages?: number;
}

/**
 * Set always: the defaults of builds differ. Anything less than FULL loses commits in a power cut. Checkpoints at 16 MiB
 * instead of 4: under load each writes the same pages again and waits for the disk twice. A cache of 16 MiB instead of 2:
 * ids are random, so each write touches pages all over the file.
 */
const PRAGMAS = [
  'synchronous = full',
  'fullfsync = on',
  'foreign_keys = on',
  'wal_autocheckpoint = 4000',
  'cache_size = -16384',
];

const MAX_WAIT_MS = 15_000;

/** Opens a ledger in one file on a local disk, and makes or migrates it first, if it may. Throws a LedgerError. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { log, clock = Date.now } = options;
  const ledger = resolve(options.path);
  await checkFolder(ledger);
  // What people approve is nobody else's business on this machine; SQLite gives its other files the same mode.
  await writeFile(ledger, '', { flag: 'ax', mode: 0o600 }).catch(() => undefined);
  const engine = await sqliteEngine();
  const { writing, db } = connections(ledger, engine, options);
  const close = () => Promise.allSettled([db.destroy(), writing.destroy()]);
  try {
    const target = { db: writing, kind: 'sqlite', ledger } as const;
    if ((await ledgerState(target, options.migrate)) === 'migrate') await migrate(target);
    const epoch = await readEpoch(db);
    const writer = createWriter({
      kind: 'sqlite',
      ledger,
      source: `urn:uuid:${epoch}`,
      begin: async () => ({ db: await writing.startTransaction().execute(), nowMs: clock() }),
      append: sqliteAppend(ledger),
    });
    log.info({ ledger, engine: engine.name, version: engine.version }, 'ledger opened');
    return {
      kind: 'sqlite',
      name: ledger,
      db,
      write: writer.write,
      nowMs: () => Promise.resolve(clock()),
      close: async () => {
        await writer.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reading has a connection of its own: it waits neither for a transaction nor for its lock, and it cannot write. */
function connections(
  ledger: string,
  { open }: SqliteEngine,
  { maxPages, maxWaitMs = MAX_WAIT_MS }: SqliteStoreOptions,
) {
  const connect = (begin: 'immediate' | 'deferred', own: readonly string[]) => {
    const pragmas = [...PRAGMAS, ...own];
    const file = () => openFile({ ledger, open, pragmas, maxWaitMs });
    return new Kysely<Database>({ dialect: sqliteDialect({ ledger, begin, maxWaitMs, open: file }) });
  };
  const limit = maxPages === undefined ? [] : [`max_page_count = ${maxPages}`];
  return { writing: connect('immediate', limit), db: connect('deferred', ['query_only = on']) };
}

async function checkFolder(ledger: string): Promise<void> {
  const folder = dirname(ledger);
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new LedgerError('LEDGER_UNREACHABLE', { ledger, detail: `there is no folder ${folder}` });
  }
  const file = await stat(ledger).catch(() => undefined);
  if (file?.isDirectory() === true) {
    throw new LedgerError('LEDGER_UNREACHABLE', { ledger, detail: 'it is a folder, not a file' });
  }
}

interface Opening {
  readonly ledger: string;
  readonly open: (path: string) => SqliteDatabase;
  readonly pragmas: readonly string[];
  readonly maxWaitMs: number;
}

async function openFile({ ledger, open, pragmas, maxWaitMs }: Opening): Promise<SqliteDatabase> {
  const database = typed(ledger, () => open(ledger));
  try {
    const [mode] = await retryWhileBusy(maxWaitMs, () =>
      typed(ledger, () => database.prepare('pragma journal_mode = wal').all<{ readonly journal_mode: string }>()),
    );
    if (mode?.journal_mode !== 'wal') {
      const detail = `its journal mode stays ${mode?.journal_mode ?? 'unknown'} instead of wal`;
      throw new LedgerError('LEDGER_READ_ONLY', { ledger, detail });
    }
    for (const pragma of pragmas)
      await retryWhileBusy(maxWaitMs, () => typed(ledger, () => database.exec(`pragma ${pragma}`)));
    return database;
  } catch (error) {
    database.close();
    throw await withoutAccess(ledger, error);
  }
}

/** A file that is there and cannot be opened is one to which, or to whose -wal and -shm, this process has no access. */
async function withoutAccess(ledger: string, error: unknown): Promise<unknown> {
  const unopened = error instanceof LedgerError && error.reason === 'unable to open database file';
  if (!unopened || (await stat(ledger).catch(() => undefined)) === undefined) return error;
  const detail = 'it, or what stands beside it (-wal, -shm), cannot be opened';
  return new LedgerError('LEDGER_READ_ONLY', { ledger, detail }, error);
}

function typed<T>(ledger: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw sqliteFailure(error, ledger);
  }
}
