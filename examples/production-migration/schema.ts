import type { DatabaseSyncInstance } from '@photostructure/sqlite';

export interface Schema {
  readonly version: number;
  /** One line for each column, index, view and trigger. */
  readonly lines: readonly string[];
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

const OWN = `name NOT LIKE 'holdpoint_%' AND name NOT LIKE 'sqlite_%'`;
const TABLES = `SELECT name AS line FROM sqlite_schema WHERE type = 'table' AND ${OWN}`;
const COLUMNS = `SELECT t.name || '.' || c.name || ' ' || c.type || iif(c."notnull", ' NOT NULL', '')
  || coalesce(' DEFAULT ' || c.dflt_value, '') || iif(c.pk, ' PRIMARY KEY', '') AS line
  FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND ${OWN}) t JOIN pragma_table_info(t.name) c`;
const OTHERS = `SELECT type || ' ' || name || ': ' || sql AS line FROM sqlite_schema WHERE type <> 'table' AND ${OWN}`;

/** What is in a database, apart from Holdpoint's own table. */
export function schemaOf(database: DatabaseSyncInstance): Schema {
  const lines = [...linesOf(database, COLUMNS), ...linesOf(database, OTHERS)];
  const rows = tablesOf(database).map((table) => [table, countOf(database, table)] as const);
  return { version: versionOf(database), lines, rows: Object.fromEntries(rows) };
}

/** The version is SQLite's own `user_version`, so it moves in the transaction of the migration. */
export function versionOf(database: DatabaseSyncInstance): number {
  return Number(member(database.prepare('PRAGMA user_version').get(), 'user_version'));
}

export function tablesOf(database: DatabaseSyncInstance): readonly string[] {
  return linesOf(database, TABLES);
}

/** Lines that go with `-`, lines that come with `+`, and tables whose number of rows changes with `~`. */
export function differences(before: Schema, after: Schema): string {
  const gone = before.lines.filter((line) => !after.lines.includes(line)).map((line) => `- ${line}`);
  const come = after.lines.filter((line) => !before.lines.includes(line)).map((line) => `+ ${line}`);
  const tables = [...new Set([...Object.keys(before.rows), ...Object.keys(after.rows)])];
  const counts = tables
    .filter((table) => before.rows[table] !== after.rows[table])
    .map((table) => `~ ${table}: ${before.rows[table] ?? 0} -> ${after.rows[table] ?? 0} rows`);
  return [...gone, ...come, ...counts].join('\n') || 'no change of the schema or of the number of rows';
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A column of a row, which the driver types as unknown. */
export function member(row: unknown, column: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, column) : undefined;
}

function linesOf(database: DatabaseSyncInstance, query: string): string[] {
  return database
    .prepare(query)
    .all()
    .map((row) => String(member(row, 'line')));
}

function countOf(database: DatabaseSyncInstance, table: string): number {
  return Number(member(database.prepare(`SELECT count(*) AS count FROM ${quoted(table)}`).get(), 'count'));
}
