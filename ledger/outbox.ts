import { expressionBuilder, type Kysely } from 'kysely';
import type { Database } from './schema';
import type { Store, Tx } from './transaction';

/** Events that are looked at in one transaction. */
const PAGE = 500;

export interface OutboxReader {
  /** The name under which an endpoint's state is kept; its address may change. */
  readonly endpoint: string;
  readonly wants: (type: string) => boolean;
}

/** An event that this process may send until its lease is over. */
export interface ClaimedDelivery {
  readonly endpoint: string;
  readonly position: number;
  readonly eventId: string;
  /** The stored bytes of the CloudEvent. */
  readonly body: string;
  /** This attempt's number, from 1. */
  readonly attempt: number;
  readonly createdAtMs: number;
}

/** Whether there is an event to send to an endpoint now. Reads only, so that idle relays never take the write lock. */
export async function hasDeliveries(
  db: Kysely<Database>,
  { endpoint, nowMs }: { readonly endpoint: string; readonly nowMs: number },
): Promise<boolean> {
  const found = await db
    .selectNoFrom((eb) => [
      eb
        .selectFrom('outbox')
        .select((outbox) => outbox.fn.max('position').as('position'))
        .as('newest'),
      eb.selectFrom('endpoints').select('position').where('endpoint', '=', endpoint).as('handedOut'),
      openDeliveries(endpoint)
        .select((open) => open.fn.min('due_at').as('due_at'))
        .as('dueAt'),
    ])
    .executeTakeFirstOrThrow();
  if (found.handedOut === null || found.handedOut < (found.newest ?? 0)) return true;
  return found.dueAt !== null && found.dueAt <= nowMs;
}

/**
 * Takes up to `limit` events for `leaseMs`. A process that dies loses its lease, and the event is sent again with the
 * same id. An endpoint that is new here gets what is emitted from now on.
 */
export async function claimDeliveries(
  store: Store,
  { reader, limit, leaseMs }: { readonly reader: OutboxReader; readonly limit: number; readonly leaseMs: number },
): Promise<readonly ClaimedDelivery[]> {
  return store.write(async (tx) => {
    await handOut(tx, reader);
    const { endpoint } = reader;
    const claimed = await tx.db
      .updateTable('deliveries')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), due_at: tx.nowMs + leaseMs }))
      .where('endpoint', '=', endpoint)
      .where('position', 'in', () =>
        openDeliveries(endpoint).select('position').where('due_at', '<=', tx.nowMs).orderBy('position').limit(limit),
      )
      // Again, because another process may have claimed them while this statement waited for their locks.
      .where('due_at', '<=', tx.nowMs)
      .where('delivered_at', 'is', null)
      .returning(['position', 'attempts'])
      .execute();
    if (claimed.length === 0) return [];
    const attempts = new Map(claimed.map((row) => [row.position, row.attempts]));
    const events = await tx.db
      .selectFrom('outbox')
      .select(['position', 'event_id as eventId', 'body', 'created_at as createdAtMs'])
      .where('position', 'in', [...attempts.keys()])
      .orderBy('position')
      .execute();
    return events.map((event) => ({ ...event, endpoint, attempt: attempts.get(event.position) ?? 1 }));
  });
}

/** Notes that an event arrived. It also holds when the lease was over: arrived is arrived. */
export async function recordDelivered(store: Store, { endpoint, position }: ClaimedDelivery): Promise<void> {
  await store.write((tx) =>
    tx.db
      .updateTable('deliveries')
      .set({ delivered_at: tx.nowMs, last_error: null })
      .where('endpoint', '=', endpoint)
      .where('position', '=', position)
      .where('delivered_at', 'is', null)
      .execute(),
  );
}

/** Notes that an attempt failed: the next one is in `retryInMs`, or never where that is null. */
export async function recordFailed(
  store: Store,
  { delivery, error, retryInMs }: { delivery: ClaimedDelivery; error: string; retryInMs: number | null },
): Promise<void> {
  const { endpoint, position, attempt } = delivery;
  await store.write((tx) =>
    tx.db
      .updateTable('deliveries')
      .set(
        retryInMs === null
          ? { given_up_at: tx.nowMs, last_error: error }
          : { due_at: tx.nowMs + retryInMs, last_error: error },
      )
      .where('endpoint', '=', endpoint)
      .where('position', '=', position)
      // Another process may try already, after this one's lease was over.
      .where('attempts', '=', attempt)
      .where('delivered_at', 'is', null)
      .execute(),
  );
}

/** Makes a delivery of each event that the endpoint wants and was not asked about. */
async function handOut(tx: Tx, { endpoint, wants }: OutboxReader): Promise<void> {
  const from = await lockEndpoint(tx, endpoint);
  const events = await tx.db
    .selectFrom('outbox')
    .select(['position', 'type'])
    .where('position', '>', from)
    .orderBy('position')
    .limit(PAGE)
    .execute();
  const last = events.at(-1);
  if (last === undefined) return;
  const rows = events
    .filter(({ type }) => wants(type))
    .map(({ position }) => ({
      endpoint,
      position,
      attempts: 0,
      due_at: tx.nowMs,
      delivered_at: null,
      given_up_at: null,
      last_error: null,
    }));
  if (rows.length > 0) await tx.db.insertInto('deliveries').values(rows).execute();
  await tx.db.updateTable('endpoints').set({ position: last.position }).where('endpoint', '=', endpoint).execute();
}

/** How far an endpoint got, locked until the transaction ends. */
async function lockEndpoint(tx: Tx, endpoint: string): Promise<number> {
  const lock = () =>
    tx.db
      .updateTable('endpoints')
      .set((eb) => ({ position: eb.ref('position') }))
      .where('endpoint', '=', endpoint)
      .returning('position')
      .executeTakeFirst();
  const known = await lock();
  if (known !== undefined) return known.position;
  const newest = await tx.db
    .selectFrom('outbox')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst();
  await tx.db
    .insertInto('endpoints')
    .values({ endpoint, position: newest?.position ?? 0 })
    .onConflict((conflict) => conflict.column('endpoint').doNothing())
    .execute();
  return (await lock())?.position ?? 0;
}

function openDeliveries(endpoint: string) {
  return expressionBuilder<Database>()
    .selectFrom('deliveries')
    .where('endpoint', '=', endpoint)
    .where('delivered_at', 'is', null)
    .where('given_up_at', 'is', null);
}
