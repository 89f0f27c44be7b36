import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { actualRows, type Columns, type OperationRows, type RowProblem } from './actual-rows';
import { ExpectedRows, ROW_FACTS, type RecordedFact } from './expected-rows';
import type { Database } from './schema';

/** Operations that are held in memory at once; each may have a card and a result of a megabyte. */
const OPERATIONS_AT_ONCE = 50;
const FACTS_AT_ONCE = 2_000;
/** Somebody who writes to one operation all the time cannot do so longer than this. */
const MAX_READS = 20;

type Db = Kysely<Database>;

/**
 * Compares the rows of every operation with its facts, operation by operation in the order of their ids, and yields what
 * differs. Others may write meanwhile.
 */
export async function* compareRows(
  db: Db,
): AsyncGenerator<{ readonly rows: number; readonly problems: readonly RowProblem[] }> {
  let after = '';
  for (;;) {
    const ids = await operationIds(db, after);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield await compareBatch(db, ids);
    after = last;
    // Reading SQLite never waits, so the event loop gets its turn here.
    await nextTurn();
  }
}

async function compareBatch(db: Db, ids: readonly string[]) {
  const expected = await expectedRows(db, ids);
  const found = await rowsOf(db, ids);
  const problems: RowProblem[] = [];
  let rows = 0;
  for (const id of ids) {
    const actual = actualRows(partOf(found, id));
    rows += actual.size;
    if (differences(expected.get(id), actual).length > 0) problems.push(...(await settledDifferences(db, id)));
  }
  return { rows, problems };
}

/** Facts and rows are committed together: where no fact came in between, what was read belongs together. */
async function settledDifferences(db: Db, id: string): Promise<readonly RowProblem[]> {
  for (let reads = 1; ; reads += 1) {
    const before = (await expectedRows(db, [id])).get(id);
    const actual = actualRows(await rowsOf(db, [id]));
    const problems = differences(before, actual);
    if (problems.length === 0) return [];
    const after = (await expectedRows(db, [id])).get(id);
    if (after?.lastSeq === before?.lastSeq || reads === MAX_READS) return problems;
  }
}

function differences(expected: ExpectedRows | undefined, actual: ReadonlyMap<string, Columns>): readonly RowProblem[] {
  const wanted: ReadonlyMap<string, Columns> = expected?.rows ?? new Map<string, Columns>();
  const problems: RowProblem[] = [...(expected?.faults ?? [])];
  for (const [row, columns] of wanted) {
    const found = actual.get(row);
    if (found === undefined) problems.push({ row, detail: 'is missing, though the audit has it' });
    else problems.push(...compareColumns(row, columns, found));
  }
  for (const row of actual.keys()) {
    if (!wanted.has(row)) problems.push({ row, detail: 'is in no record of the audit' });
  }
  return problems;
}

/** What differs between one row and what the audit says of it, column by column. */
export function compareColumns(row: string, wanted: Columns, found: Columns): readonly RowProblem[] {
  return Object.entries(wanted)
    .filter(([column, value]) => found[column] !== value)
    .map(([column, value]) => ({ row, detail: differs(column, found[column], value) }));
}

function differs(column: string, found: Columns[string], wanted: Columns[string]): string {
  if (column === 'row') return 'a column that never changes was changed (who asks, which tool, or an id)';
  const digested = typeof wanted === 'string' && wanted.startsWith('sha256:');
  if (digested) return `${column} is not what was recorded`;
  return `${column} is ${shown(found)}, the audit says ${shown(wanted)}`;
}

const LONGEST_SHOWN = 80;

function shown(value: Columns[string]): string {
  const text = JSON.stringify(value ?? null);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** The next operations that have a row or a fact. */
async function operationIds(db: Db, after: string): Promise<readonly string[]> {
  const parts = [...TABLES, 'audit' as const].map(
    (table) => sql`select operation_id from (
      select distinct operation_id from ${sql.table(table)} where operation_id > ${after}
      order by operation_id limit ${OPERATIONS_AT_ONCE}) as ${sql.ref(`next_${table}`)}`,
  );
  const { rows } = await sql<{ readonly operation_id: string }>`
    select operation_id from (${sql.join(parts, sql` union `)}) as ids
    order by operation_id limit ${OPERATIONS_AT_ONCE}`.execute(db);
  return rows.map(({ operation_id: id }) => id);
}

async function expectedRows(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, ExpectedRows>> {
  const expected = new Map<string, ExpectedRows>();
  let after = 0;
  for (;;) {
    const facts = await factsAfter(db, ids, after);
    for (const { operationId, ...fact } of facts) {
      const known = expected.get(operationId) ?? new ExpectedRows(operationId);
      expected.set(operationId, known);
      known.accept(fact);
      after = fact.seq;
    }
    if (facts.length < FACTS_AT_ONCE) return expected;
  }
}

type OperationFact = RecordedFact & { readonly operationId: string };

async function factsAfter(db: Db, ids: readonly string[], after: number): Promise<readonly OperationFact[]> {
  return db
    .selectFrom('audit')
    .select(['seq', 'at', 'kind', 'body'])
    .select((eb) => eb.ref('operation_id').$notNull().as('operationId'))
    .where('operation_id', 'in', ids)
    .where('kind', 'in', ROW_FACTS)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(FACTS_AT_ONCE)
    .execute();
}

/** The tables whose rows belong to one operation. */
const TABLES = [
  'requests',
  'decisions',
  'grants',
  'operations',
  'retrospectives',
  'reversals',
  'second_reviews',
] as const satisfies readonly (keyof OperationRows)[];

async function rowsOf(db: Db, ids: readonly string[]): Promise<OperationRows> {
  return {
    requests: await db.selectFrom('requests').selectAll().where('operation_id', 'in', ids).execute(),
    decisions: await db.selectFrom('decisions').selectAll().where('operation_id', 'in', ids).execute(),
    grants: await db.selectFrom('grants').selectAll().where('operation_id', 'in', ids).execute(),
    operations: await db.selectFrom('operations').selectAll().where('operation_id', 'in', ids).execute(),
    retrospectives: await db.selectFrom('retrospectives').selectAll().where('operation_id', 'in', ids).execute(),
    reversals: await db.selectFrom('reversals').selectAll().where('operation_id', 'in', ids).execute(),
    second_reviews: await db.selectFrom('second_reviews').selectAll().where('operation_id', 'in', ids).execute(),
  };
}

function partOf(rows: OperationRows, id: string): OperationRows {
  const own = <R extends { readonly operation_id: string }>(all: readonly R[]) =>
    all.filter((row) => row.operation_id === id);
  return {
    requests: own(rows.requests),
    decisions: own(rows.decisions),
    grants: own(rows.grants),
    operations: own(rows.operations),
    retrospectives: own(rows.retrospectives),
    reversals: own(rows.reversals),
    second_reviews: own(rows.second_reviews),
  };
}
