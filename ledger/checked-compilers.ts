import { PostgresQueryCompiler, SqliteQueryCompiler } from 'kysely';

/**
 * What may be bound, the same on both stores. pg would turn `undefined` into null and an object into JSON, one SQLite
 * module would turn `true` into an integer, and an integer beyond 2^53 would come back as another one.
 */
function checkParameter(value: unknown): void {
  if (value === null || typeof value === 'string' || value instanceof Uint8Array) return;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return;
  const shown = typeof value === 'number' ? String(value) : typeof value;
  throw new TypeError(`The ledger binds texts, bytes, null and integers below 2^53, not ${shown}`);
}

export class CheckedSqliteCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    checkParameter(value);
    super.appendValue(value);
  }
}

export class CheckedPostgresCompiler extends PostgresQueryCompiler {
  protected override appendValue(value: unknown): void {
    // Lists travel as arrays in the statement that appends a batch.
    if (Array.isArray(value)) for (const item of value) checkParameter(item);
    else checkParameter(value);
    super.appendValue(value);
  }
}
