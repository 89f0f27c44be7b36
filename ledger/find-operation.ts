import type { Kysely } from 'kysely';
import type { Database } from './schema';

/** One operation that an id may mean. `revision` is set where the id names one revision of its approval request. */
export interface OperationMatch {
  readonly operationId: string;
  readonly revision: number | null;
  readonly shortId: string | null;
  readonly server: string;
  readonly tool: string;
  readonly state: string;
}

export type FoundOperation =
  | { readonly kind: 'one'; readonly match: OperationMatch }
  | { readonly kind: 'none' }
  /** At most ten of those that the id fits. */
  | { readonly kind: 'several'; readonly matches: readonly OperationMatch[] };

/** Fewer characters of an id mean nothing in particular. */
const SHORTEST_PREFIX = 3;
const MOST_MATCHES = 10;

/** After every character that an id may hold. */
const LAST = '\u{10ffff}';

/**
 * The operation that a person means: by short id, operation id, or the beginning of either; case does not count. A short
 * id names one revision, since each has its own. Of several requests an open one is meant before those that are closed.
 */
export async function findOperation(db: Kysely<Database>, given: string): Promise<FoundOperation> {
  const id = given.trim();
  if (id.length < SHORTEST_PREFIX) return { kind: 'none' };
  const isOperationId = id.toLowerCase().startsWith('op_');
  const requests = isOperationId ? await latestRequests(db, id.toLowerCase()) : await byShortId(db, id.toUpperCase());
  if (!isOperationId) return judge(requests);
  const [operations, recorded] = await Promise.all([
    sentOperations(db, id.toLowerCase()),
    recordedCalls(db, id.toLowerCase()),
  ]);
  // The last one of an operation wins: a request says more of it than the other rows do.
  const all = new Map([...recorded, ...operations, ...requests].map((match) => [match.operationId, match]));
  return judge([...all.values()]);
}

function judge(matches: readonly OperationMatch[]): FoundOperation {
  const open = matches.filter((match) => match.state === 'pending');
  const wanted = open.length > 0 ? open : matches;
  const [first] = wanted;
  if (first === undefined) return { kind: 'none' };
  if (wanted.length === 1) return { kind: 'one', match: first };
  return { kind: 'several', matches: wanted.slice(0, MOST_MATCHES) };
}

const MATCH = ['operation_id as operationId', 'revision', 'short_id as shortId', 'server', 'tool', 'state'] as const;

async function byShortId(db: Kysely<Database>, prefix: string): Promise<readonly OperationMatch[]> {
  return db
    .selectFrom('requests')
    .select(MATCH)
    .where('short_id', '>=', prefix)
    .where('short_id', '<', prefix + LAST)
    .orderBy('opened_at', 'desc')
    .execute();
}

/** One match for each operation, its latest revision; the id says no revision, so none is fixed. */
async function latestRequests(db: Kysely<Database>, prefix: string): Promise<readonly OperationMatch[]> {
  const rows = await db
    .selectFrom('requests')
    .select(MATCH)
    .where('operation_id', '>=', prefix)
    .where('operation_id', '<', prefix + LAST)
    .orderBy('revision')
    .execute();
  const latest = new Map(rows.map((row) => [row.operationId, { ...row, revision: null }]));
  return [...latest.values()];
}

async function sentOperations(db: Kysely<Database>, prefix: string): Promise<readonly OperationMatch[]> {
  const rows = await db
    .selectFrom('operations')
    .select(['operation_id as operationId', 'server', 'tool', 'state'])
    .where('operation_id', '>=', prefix)
    .where('operation_id', '<', prefix + LAST)
    .execute();
  return rows.map((row) => ({ ...row, revision: null, shortId: null }));
}

/** Calls that were refused, or ran unasked and were not sent yet: only the audit has them. */
async function recordedCalls(db: Kysely<Database>, prefix: string): Promise<readonly OperationMatch[]> {
  const rows = await db
    .selectFrom('audit')
    .select('operation_id as operationId')
    .distinct()
    .where('operation_id', '>=', prefix)
    .where('operation_id', '<', prefix + LAST)
    .limit(MOST_MATCHES + 1)
    .execute();
  return rows.flatMap(({ operationId }) =>
    operationId === null
      ? []
      : [{ operationId, revision: null, shortId: null, server: '', tool: '', state: 'recorded' }],
  );
}
