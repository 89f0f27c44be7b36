import { Migrator, sql, type Kysely, type Migration } from 'kysely';
import { unreachable } from '../core/unreachable';
import { LedgerError, reasonOf } from './ledger-error';
import { createLedger } from './migrations/0001-tables';
import { addIndexes } from './migrations/0002-indexes';
import { addGatewayCalls } from './migrations/0003-gateway-calls';
import { addMetricIndexes } from './migrations/0004-metric-indexes';
import { addRetrospectives } from './migrations/0005-retrospectives';
import { addSecondLooks } from './migrations/0006-second-looks';
import { addDeliveryResults } from './migrations/0007-delivery-results';
import type { Database } from './schema';
import type { Store } from './transaction';

const MIGRATION_TABLE = 'ledger_migrations';
const MIGRATION_LOCK_TABLE = 'ledger_migration_lock';

/** In order of their names; only ever added to. */
const MIGRATIONS: Readonly<Record<string, (db: Kysely<unknown>, kind: Store['kind']) => Promise<void>>> = {
  '0001-tables': createLedger,
  '0002-indexes': addIndexes,
  '0003-gateway-calls': addGatewayCalls,
  '0004-metric-indexes': addMetricIndexes,
  '0005-retrospectives': addRetrospectives,
  '0006-second-looks': addSecondLooks,
  '0007-delivery-results': addDeliveryResults,
};

export interface Target {
  readonly db: Kysely<Database>;
  readonly kind: Store['kind'];
  /** A name for messages. */
  readonly ledger: string;
}

/**
 * What has to be done before a ledger can be used: `current`, `migrate` for an empty or older one. A newer one, or a
 * SQLite file of something else, throws LEDGER_VERSION or LEDGER_DAMAGED; an older one, for who must not change it,
 * LEDGER_OLDER.
 */
export async function ledgerState(target: Target, mayMigrate = true): Promise<'current' | 'migrate'> {
  const found = await migrationsOf(target);
  const known = Object.keys(MIGRATIONS);
  if (found.length === known.length) return 'current';
  if (mayMigrate) return 'migrate';
  const values = { ledger: target.ledger, found: found.at(-1) ?? 'no tables', known: known.at(-1) ?? '' };
  throw new LedgerError('LEDGER_OLDER', values);
}

/** The migrations that a ledger has, all of them known here; none where it is empty. */
async function migrationsOf({ db, kind, ledger }: Target): Promise<readonly string[]> {
  const tables = await tableNames(db, kind);
  if (!tables.includes(MIGRATION_TABLE)) {
    const foreign = tables.find((name) => name !== MIGRATION_LOCK_TABLE);
    if (kind === 'postgres' || foreign === undefined) return [];
    throw new LedgerError('LEDGER_DAMAGED', { ledger, detail: `the file holds a table ${foreign} of something else` });
  }
  const { rows } = await sql<{ readonly name: string }>`select name from ${sql.table(MIGRATION_TABLE)}`.execute(db);
  const known = Object.keys(MIGRATIONS);
  const found = rows.map(({ name }) => name).sort();
  const unknown = found.filter((name) => !known.includes(name));
  if (unknown.length === 0) return found;
  const values = { ledger, found: unknown.at(-1) ?? '', known: known.at(-1) ?? '' };
  throw new LedgerError('LEDGER_VERSION', values);
}

/** Brings a ledger to this release's schema. Any number of processes may do so at once. */
export async function migrate(target: Target): Promise<void> {
  const { db, kind, ledger } = target;
  const schema = await currentSchema(db, kind);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrationsFor(kind)) },
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: MIGRATION_LOCK_TABLE,
    ...(schema !== null && { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (error instanceof LedgerError) throw error;
  // Another process of a newer release may have migrated in between: then say so.
  await ledgerState(target);
  throw new LedgerError(
    'LEDGER_UNREACHABLE',
    { ledger, detail: `its tables cannot be made: ${reasonOf(error)}` },
    error,
  );
}

function migrationsFor(kind: Store['kind']): Record<string, Migration> {
  const entries = Object.entries(MIGRATIONS).map(([name, run]): [string, Migration] => [
    name,
    { up: (db: Kysely<unknown>) => run(db, kind) },
  ]);
  return Object.fromEntries(entries);
}

async function tableNames(db: Kysely<Database>, kind: Store['kind']): Promise<readonly string[]> {
  const { rows } = await tableQuery(kind).execute(db);
  return rows.map(({ name }) => name);
}

function tableQuery(kind: Store['kind']) {
  switch (kind) {
    case 'sqlite':
      return sql<{
        readonly name: string;
      }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`;
    case 'postgres':
      return sql<{
        readonly name: string;
      }>`select tablename as name from pg_tables where schemaname = current_schema()`;
    default:
      return unreachable(kind);
  }
}

/** The migrator finds its tables in any schema of a PostgreSQL database unless it is told which. */
async function currentSchema(db: Kysely<Database>, kind: Store['kind']): Promise<string | null> {
  if (kind === 'sqlite') return null;
  const { rows } = await sql<{ readonly schema: string | null }>`select current_schema() as schema`.execute(db);
  return rows[0]?.schema ?? null;
}
