import { SqliteAdapter, SqliteIntrospector, type Dialect, type DialectAdapter, type Kysely } from 'kysely';
import { CheckedSqliteCompiler } from './checked-compilers';
import { SqliteDriver, type SqliteDriverOptions } from './sqlite-driver';

/** Makes the migrator run in one transaction, whose BEGIN IMMEDIATE is the lock that Kysely does not take on SQLite. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely on the `node:sqlite` API. */
export function sqliteDialect(options: SqliteDriverOptions): Dialect {
  return {
    createDriver: () => new SqliteDriver(options),
    createQueryCompiler: () => new CheckedSqliteCompiler(),
    createAdapter: (): DialectAdapter => new TransactionalSqliteAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
  };
}
