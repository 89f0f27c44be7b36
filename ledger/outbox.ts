import { expressionBuilder, type Kysely, type Updateable } from 'kysely';
import type { Database, DeliveriesTable, DeliveryChannel } from './schema';
import type { Store, Tx } from './transaction';

/** Events that are looked at in one transaction. */
const PAGE = 500;

const EVENT_COLUMNS = ['event_id as eventId', 'type', 'body', 'created_at as createdAtMs'] as const;

export interface OutboxReader {
  /** The name under which an endpoint's state is kept; its address may change. */
  readonly endpoint: string;
  /** What its results are counted under: a webhook by default. */
  readonly channel?: DeliveryChannel;
  readonly wants: (type: string) => boolean;
  /** When an event that is wanted is due; null where it is not wanted after all. At once where this is left out. */
  readonly dueAtMs?: ((event: OutboxedEvent) => number | null) | undefined;
}

/** An event as it lies in the outbox. */
export interface OutboxedEvent {
  readonly eventId: string;
  readonly type: string;
  /** The stored bytes of the CloudEvent. */
  readonly body: string;
  readonly createdAtMs: number;
}

/** An event that this process may send until its lease is over. */
export interface ClaimedDelivery extends OutboxedEvent {
  readonly endpoint: string;
  readonly position: number;
  /** This attempt's number, from 1. */
  readonly attempt: number;
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
      .select(['position', ...EVENT_COLUMNS])
      .where('position', 'in', [...attempts.keys()])
      .orderBy('position')
      .execute();
    return events.map((event) => ({ ...event, endpoint, attempt: attempts.get(event.position) ?? 1 }));
  });
}

/** Notes that an event arrived. It also holds when the lease was over: arrived is arrived. */
export async function recordDelivered(store: Store, { endpoint, position }: ClaimedDelivery): Promise<void> {
  await store.write(async (tx) => {
    const arrived = await tx.db
      .updateTable('deliveries')
      .set({ delivered_at: tx.nowMs, last_error: null })
      .where('endpoint', '=', endpoint)
      .where('position', '=', position)
      .where('delivered_at', 'is', null)
      .executeTakeFirst();
    if (arrived.numUpdatedRows > 0n) await countResult(tx, endpoint, 'delivered');
  });
}

/** Notes that an attempt failed: the next one is in `retryInMs`, or never where that is null. */
export async function recordFailed(
  store: Store,
  { delivery, error, retryInMs }: { delivery: ClaimedDelivery; error: string; retryInMs: number | null },
): Promise<void> {
  await store.write(async (tx) => {
    const ended = retryInMs === null ? { given_up_at: tx.nowMs } : { due_at: tx.nowMs + retryInMs };
    const isChanged = await change(tx, delivery, { ...ended, last_error: error });
    if (isChanged) await countResult(tx, delivery.endpoint, retryInMs === null ? 'given_up' : 'failed');
  });
}

/** Notes that nothing was sent: it is looked at again in `againInMs`, or was superfluous where that is null. */
export async function recordUnsent(
  store: Store,
  { delivery, reason, againInMs }: { delivery: ClaimedDelivery; reason: string; againInMs: number | null },
): Promise<void> {
  // What was not sent was no attempt: whatever has more than none may have arrived.
  const unsent = { attempts: delivery.attempt - 1, last_error: `not sent: ${reason}` };
  await store.write(async (tx) => {
    const ended = againInMs === null ? { delivered_at: tx.nowMs } : { due_at: tx.nowMs + againInMs };
    await change(tx, delivery, { ...unsent, ...ended });
  });
}

/** Whether it was this attempt's to change: another process may try already, after this one's lease was over. */
async function change(
  tx: Tx,
  { endpoint, position, attempt }: ClaimedDelivery,
  changed: Updateable<DeliveriesTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('deliveries')
    .set(changed)
    .where('endpoint', '=', endpoint)
    .where('position', '=', position)
    .where('attempts', '=', attempt)
    .where('delivered_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Rows of deliveries are removed after a while; these counts only rise. */
async function countResult(tx: Tx, endpoint: string, result: 'delivered' | 'failed' | 'given_up'): Promise<void> {
  await tx.db
    .updateTable('endpoints')
    .set((eb) => ({ [result]: eb(result, '+', 1) }))
    .where('endpoint', '=', endpoint)
    .execute();
}

/** Makes a delivery of each event that the endpoint wants and was not asked about. */
async function handOut(tx: Tx, { endpoint, channel = 'webhook', wants, dueAtMs }: OutboxReader): Promise<void> {
  const from = await lockEndpoint(tx, endpoint, channel);
  const events = await tx.db
    .selectFrom('outbox')
    .select(['position', 'type'])
    .where('position', '>', from)
    .orderBy('position')
    .limit(PAGE)
    .execute();
  const last = events.at(-1);
  if (last === undefined) return;
  const wanted = events.filter(({ type }) => wants(type)).map(({ position }) => position);
  const due =
    dueAtMs === undefined
      ? wanted.map((position) => ({ position, due_at: tx.nowMs }))
      : await planned(tx, wanted, dueAtMs);
  const rows = due.map((row) => ({
    ...row,
    endpoint,
    attempts: 0,
    delivered_at: null,
    given_up_at: null,
    last_error: null,
  }));
  if (rows.length > 0) await tx.db.insertInto('deliveries').values(rows).execute();
  await tx.db.updateTable('endpoints').set({ position: last.position }).where('endpoint', '=', endpoint).execute();
}

async function planned(
  tx: Tx,
  positions: readonly number[],
  dueAtMs: (event: OutboxedEvent) => number | null,
): Promise<readonly { readonly position: number; readonly due_at: number }[]> {
  if (positions.length === 0) return [];
  const events = await tx.db
    .selectFrom('outbox')
    .select(['position', ...EVENT_COLUMNS])
    .where('position', 'in', positions)
    .orderBy('position')
    .execute();
  return events.flatMap((event) => {
    const atMs = dueAtMs(event);
    return atMs === null ? [] : [{ position: event.position, due_at: atMs }];
  });
}

/** How far an endpoint got, locked until the transaction ends. */
async function lockEndpoint(tx: Tx, endpoint: string, channel: DeliveryChannel): Promise<number> {
  const lock = () =>
    tx.db
      .updateTable('endpoints')
      .set({ channel })
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
    .values({ endpoint, channel, position: newest?.position ?? 0, delivered: 0, failed: 0, given_up: 0 })
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
