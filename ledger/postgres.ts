import { Kysely } from 'kysely';
import { Pool, TypeOverrides, type PoolConfig } from 'pg';
import { postgresAppend } from './audit-append';
import type { Log } from './log';
import { readEpoch } from './meta';
import { ledgerState, migrate } from './migrations';
import { PostgresDriver, postgresDialect, serverNowMs } from './postgres-driver';
import type { Database } from './schema';
import type { Store } from './transaction';
import { createWriter } from './writer';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`; its tables are made in the first schema of the search path. */
  readonly url: string;
  readonly log: Log;
  /** Epoch milliseconds; the server's clock by default. */
  readonly clock?: () => number;
  /** False: an older ledger is refused (LEDGER_OLDER) instead of changed. */
  readonly migrate?: boolean;
}

const INT8 = 20;
const READERS = 4;
const READ_ONLY = 'set default_transaction_read_only = on';

const TIMEOUTS = {
  connectionTimeoutMillis: 5_000,
  lock_timeout: 5_000,
  statement_timeout: 15_000,
  idle_in_transaction_session_timeout: 15_000,
  // On this side: the server may have vanished without a word.
  query_timeout: 20_000,
} as const satisfies PoolConfig;

/** Opens a ledger in a PostgreSQL database, and makes or migrates it first, if it may. Throws a LedgerError. */
export async function openPostgresStore({
  url,
  log,
  clock,
  migrate: mayMigrate,
}: PostgresStoreOptions): Promise<Store> {
  const ledger = nameOf(url);
  const connect = (config: PoolConfig) => openPool({ connectionString: url, ...config }, { ledger, log });
  // The writer has one transaction at a time; readers cannot write.
  const writing = new PostgresDriver(connect({ max: 1, ...TIMEOUTS }), { ledger });
  const write = new Kysely<Database>({ dialect: postgresDialect(writing) });
  const reading = new PostgresDriver(connect({ max: READERS, ...TIMEOUTS }), { ledger, setUp: READ_ONLY });
  const db = new Kysely<Database>({ dialect: postgresDialect(reading) });
  try {
    const target = { db, kind: 'postgres', ledger } as const;
    if ((await ledgerState(target, mayMigrate)) === 'migrate') {
      // Waits for another process that migrates, as long as that takes.
      const pool = connect({ max: 1, connectionTimeoutMillis: TIMEOUTS.connectionTimeoutMillis });
      const migrating = new Kysely<Database>({ dialect: postgresDialect(new PostgresDriver(pool, { ledger }), 'any') });
      await migrate({ ...target, db: migrating }).finally(() => migrating.destroy());
    }
    const epoch = await readEpoch(db);
    const writer = createWriter({
      kind: 'postgres',
      ledger,
      source: `urn:uuid:${epoch}`,
      begin: async () => {
        const transaction = await write.startTransaction().execute();
        return { db: transaction, nowMs: clock?.() ?? writing.beganAtMs };
      },
      append: postgresAppend(ledger),
    });
    log.info({ ledger }, 'ledger opened');
    return {
      kind: 'postgres',
      name: ledger,
      db,
      write: writer.write,
      nowMs: async () => clock?.() ?? (await serverNowMs(db)),
      close: async () => {
        await writer.close();
        await Promise.all([db.destroy(), write.destroy()]);
      },
    };
  } catch (error) {
    await Promise.allSettled([db.destroy(), write.destroy()]);
    throw error;
  }
}

function openPool(config: PoolConfig, { ledger, log }: { ledger: string; log: Log }): Pool {
  const types = new TypeOverrides();
  types.setTypeParser(INT8, safeInteger);
  const pool = new Pool({ application_name: 'holdpoint', keepAlive: true, types, ...config });
  // Without listeners the loss of a connection would end the process: the pool tells of idle ones only, and one in a
  // transaction speaks for itself. The pool makes a new one when it is needed.
  const lost = (error: Error) => log.warn({ ledger, detail: error.message }, 'ledger connection lost');
  pool.on('connect', (client) => client.on('error', lost));
  pool.on('error', () => undefined);
  return pool;
}

/** A bigint as number, or an error where that would be another number. */
function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`The ledger holds an integer beyond 2^53: ${text}`);
  return value;
}

/** Host and database, for messages: never the password. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
