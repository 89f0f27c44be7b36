import type { Kysely } from 'kysely';
import {
  recordOf,
  recordOfOperation,
  requestsThat,
  type OperationRecord,
  type RequestFilter,
  type RequestRecord,
} from './queries';
import type { Database } from './schema';

/** Reading long lists piece by piece: a place in the list stays one, whatever is added or closed meanwhile. */
type Db = Kysely<Database>;

/** Where a page begins: behind the row with this time and id. */
export interface Place {
  readonly atMs: number;
  readonly operationId: string;
}

export interface PageQuery {
  readonly after: Place | null;
  readonly limit: number;
}

export interface Placed<Item> {
  readonly item: Item;
  readonly place: Place;
}

/** Approval requests: open ones with the nearest deadline first, closed ones with the latest end first. */
export async function requestsPage(
  db: Db,
  filter: Omit<RequestFilter, 'approver' | 'limit'>,
  { after, limit }: PageQuery,
): Promise<readonly Placed<RequestRecord>[]> {
  const isOpen = (filter.state ?? 'pending') === 'pending';
  const column = isOpen ? 'deadline_at' : 'closed_at';
  const rows = await requestsThat(db, filter)
    .$if(after !== null, (query) =>
      query.where((eb) =>
        eb.or([
          eb(column, isOpen ? '>' : '<', after?.atMs ?? 0),
          eb(column, '=', after?.atMs ?? 0).and('operation_id', '>', after?.operationId ?? ''),
        ]),
      ),
    )
    .orderBy(column, isOpen ? 'asc' : 'desc')
    .orderBy('operation_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    item: recordOf(row),
    place: { atMs: (isOpen ? row.deadline_at : row.closed_at) ?? 0, operationId: row.operation_id },
  }));
}

/** Operations that were sent, the latest first. */
export async function operationsPage(
  db: Db,
  state: OperationRecord['state'] | null,
  { after, limit }: PageQuery,
): Promise<readonly Placed<OperationRecord>[]> {
  const rows = await db
    .selectFrom('operations')
    .selectAll()
    .$if(state !== null, (query) => query.where('state', '=', state ?? 'unknown'))
    .$if(after !== null, (query) =>
      query.where((eb) =>
        eb.or([
          eb('dispatched_at', '<', after?.atMs ?? 0),
          eb('dispatched_at', '=', after?.atMs ?? 0).and('operation_id', '>', after?.operationId ?? ''),
        ]),
      ),
    )
    .orderBy('dispatched_at', 'desc')
    .orderBy('operation_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    item: recordOfOperation(row),
    place: { atMs: row.dispatched_at, operationId: row.operation_id },
  }));
}

/** The newest revision of each of these operations that has a request at all. */
export async function latestRequests(
  db: Db,
  operationIds: readonly string[],
): Promise<ReadonlyMap<string, RequestRecord>> {
  if (operationIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('requests')
    .selectAll()
    .where('operation_id', 'in', operationIds)
    .orderBy('revision')
    .execute();
  return new Map(rows.map((row) => [row.operation_id, recordOf(row)]));
}
