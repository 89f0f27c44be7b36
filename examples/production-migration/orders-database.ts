import { constants, DatabaseSync } from '@photostructure/sqlite';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { inSqlite, once, OPERATION_TABLE } from '../../client/tool';
import { differences, member, quoted, schemaOf, tablesOf, versionOf } from './schema';
import type { Schema } from './schema';

export type Plan = { readonly ok: true; readonly diff: string } | { readonly ok: false; readonly detail: string };

/** What a migration may not do: end the transaction that makes it all or nothing, reach another file, or set the version. */
const FORBIDDEN: ReadonlySet<number> = new Set([
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
  constants.SQLITE_PRAGMA,
]);

/** Thrown to have a transaction rolled back that did what it was for. */
const TAKE_BACK = new Error('taken back');

/** The database of one environment. */
export class OrdersDatabase {
  /** Used by one transaction at a time, so reads have a connection of their own. */
  private readonly writer: DatabaseSyncInstance;
  private readonly reader: DatabaseSyncInstance;

  constructor(path: string) {
    this.writer = new DatabaseSync(path);
    this.writer.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${OPERATION_TABLE}`);
    this.reader = new DatabaseSync(path, { readOnly: true });
  }

  version(): number {
    return versionOf(this.reader);
  }

  schema(): Schema {
    return schemaOf(this.reader);
  }

  /** The first rows of a table; undefined where there is no such table. */
  read(table: string, limit: number): readonly unknown[] | undefined {
    if (!tablesOf(this.reader).includes(table)) return undefined;
    const rows: readonly unknown[] = this.reader.prepare(`SELECT * FROM ${quoted(table)} LIMIT ?`).all(limit);
    return rows;
  }

  /** When an operation was applied; undefined where it was not. */
  find(operationId: string): string | undefined {
    const query = 'SELECT applied_at FROM holdpoint_operations WHERE operation_id = ?';
    const appliedAt = member(this.reader.prepare(query).get(operationId), 'applied_at');
    return typeof appliedAt === 'string' ? appliedAt : undefined;
  }

  /** Runs a migration, notes what it changes, and takes it back. */
  async plan(sql: string): Promise<Plan> {
    let diff = '';
    try {
      await inSqlite(this.writer, () => {
        const before = schemaOf(this.writer);
        this.execute(sql);
        diff = differences(before, schemaOf(this.writer));
        throw TAKE_BACK;
      });
    } catch (error) {
      if (error !== TAKE_BACK) return { ok: false, detail: String(member(error, 'message')) };
    }
    return { ok: true, diff };
  }

  /** The migration, the new version and the operation id are committed together, or none of them is. */
  apply(operationId: string, sql: string) {
    return inSqlite(this.writer, (tx) =>
      once(tx, operationId, () => {
        this.execute(sql);
        const version = versionOf(this.writer) + 1;
        this.writer.exec(`PRAGMA user_version = ${version}`);
        return { version };
      }),
    );
  }

  close(): void {
    this.writer.close();
    this.reader.close();
  }

  private execute(sql: string): void {
    this.writer.setAuthorizer((action, subject) =>
      FORBIDDEN.has(action) || subject === 'holdpoint_operations' ? constants.SQLITE_DENY : constants.SQLITE_OK,
    );
    try {
      this.writer.exec(sql);
    } finally {
      this.writer.setAuthorizer(null);
    }
  }
}
