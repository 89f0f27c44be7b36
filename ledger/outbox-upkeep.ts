import type { Kysely } from 'kysely';
import type { Database } from './schema';
import type { Store } from './transaction';

const DAY_MS = 86_400_000;

/** How long an event is kept that every endpoint has got. */
const DELIVERED_MS = 7 * DAY_MS;

/** How long any other is kept: one that was given up, or whose endpoint asks no more. */
const LONGEST_MS = 30 * DAY_MS;

const PAGE = 200;

/** Of one call; what is left then has time. */
const MOST_PAGES = 50;

/**
 * Removes from the outbox what was delivered a week ago and whatever is a month old, a few rows to a transaction. Any
 * number of processes may do so at once. Answers how many events it removed.
 */
export async function pruneOutbox(store: Store): Promise<number> {
  const nowMs = await store.nowMs();
  let removed = 0;
  let after = 0;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const oldest = await store.db
      .selectFrom('outbox')
      .select(['position', 'created_at as createdAtMs'])
      .where('position', '>', after)
      .orderBy('position')
      .limit(PAGE)
      .execute();
    // Positions are in the order of commits: what comes after an event that is too young is younger.
    const old = oldest.filter(({ createdAtMs }) => createdAtMs < nowMs - DELIVERED_MS);
    const awaited = await awaitedOf(
      store.db,
      old.map(({ position }) => position),
    );
    const over = old.filter(({ position, createdAtMs }) => !awaited(position) || createdAtMs < nowMs - LONGEST_MS);
    await remove(
      store,
      over.map(({ position }) => position),
    );
    removed += over.length;
    after = oldest.at(-1)?.position ?? after;
    if (old.length < PAGE) break;
  }
  return removed;
}

/** Whether an endpoint has not got the event at a position, or could not be given it. */
async function awaitedOf(db: Kysely<Database>, positions: readonly number[]): Promise<(position: number) => boolean> {
  if (positions.length === 0) return () => false;
  const { handedOut } = await db
    .selectFrom('endpoints')
    .select((eb) => eb.fn.min<number | null>('position').as('handedOut'))
    .executeTakeFirstOrThrow();
  const open = await db
    .selectFrom('deliveries')
    .select('position')
    .where('position', 'in', positions)
    .where('delivered_at', 'is', null)
    .execute();
  const undelivered = new Set(open.map(({ position }) => position));
  // Without an endpoint nobody waits: a new one gets what comes after it.
  return (position) => undelivered.has(position) || position > (handedOut ?? Infinity);
}

async function remove(store: Store, positions: readonly number[]): Promise<void> {
  if (positions.length === 0) return;
  await store.write(async ({ db }) => {
    await db.deleteFrom('deliveries').where('position', 'in', positions).execute();
    await db.deleteFrom('outbox').where('position', 'in', positions).execute();
  });
}

/** The events that an endpoint was not given in three days; they are not tried again. */
export interface GivenUp {
  readonly endpoint: string;
  readonly count: number;
  /** Of the latest of them. */
  readonly lastError: string;
}

export async function givenUpEvents(db: Kysely<Database>): Promise<readonly GivenUp[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['endpoint', 'last_error as lastError'])
    .where('given_up_at', 'is not', null)
    .orderBy('given_up_at')
    .execute();
  const endpoints = new Map<string, GivenUp>();
  for (const { endpoint, lastError } of rows) {
    const count = (endpoints.get(endpoint)?.count ?? 0) + 1;
    endpoints.set(endpoint, { endpoint, count, lastError: lastError ?? 'no answer' });
  }
  return [...endpoints.values()];
}
