import { sql } from 'kysely';
import type { RowProblem } from './actual-rows';
import { APPEND_ONLY, POSTGRES_FUNCTIONS, appendOnlyTrigger } from './migrations/0001-guards';
import type { Store } from './transaction';

/** The triggers that make the store refuse a change of what was recorded: all there, enabled, and as they were made. */
export async function missingGuards({ db, kind }: Pick<Store, 'db' | 'kind'>): Promise<readonly RowProblem[]> {
  const guarded = kind === 'sqlite' ? await guardedInSqlite(db) : await guardedInPostgres(db);
  return APPEND_ONLY.filter((table) => !guarded.has(table)).map((table) => ({
    row: `triggers ${table}`,
    detail: 'the trigger that makes it append-only is missing, switched off or another one',
  }));
}

async function guardedInSqlite(db: Store['db']): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ readonly sql: string }>`select sql from sqlite_schema where type = 'trigger'`.execute(
    db,
  );
  const found = new Set(rows.map((row) => inOneLine(row.sql)));
  return new Set(
    APPEND_ONLY.filter((table) => appendOnlyTrigger(table, 'sqlite').every((text) => found.has(inOneLine(text)))),
  );
}

/** SQLite keeps the words of a statement, but not the case of its first ones. */
function inOneLine(statement: string): string {
  return statement.replace(/\s+/gu, ' ').toLowerCase();
}

/** before 2 + delete 8 + update 16 + truncate 32, for each statement. */
const TRIGGER_TYPE = 58;

async function guardedInPostgres(db: Store['db']): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ readonly name: string; readonly body: string }>`
    select c.relname as name, p.prosrc as body
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and t.tgtype = ${TRIGGER_TYPE} and t.tgenabled in ('O', 'A')
      and t.tgqual is null`.execute(db);
  const ours = rows.filter(({ body }) => POSTGRES_FUNCTIONS.some((text) => text.includes(`$$${body}$$`)));
  return new Set(ours.map(({ name }) => name));
}
