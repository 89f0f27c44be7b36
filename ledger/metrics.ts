import type { Kysely } from 'kysely';
import type { Policy } from '../core/policy';
import { latestSeq } from './changes';
import { liveGrants } from './grant-queries';
import type { RequestPlace } from './metric-event';
import type { Database, DeliveryChannel } from './schema';

type Db = Kysely<Database>;

/** How things stand now, in numbers; what happened is read as events. */
export interface Gauges {
  readonly pending: readonly (RequestPlace & { readonly count: number; readonly oldestAtMs: number })[];
  /** Operations that are under way, and those whose outcome a person has to settle. */
  readonly operations: { readonly dispatched: number; readonly unknown: number };
  /** Grants that still permit something under the active policy. */
  readonly grants: readonly (Omit<RequestPlace, 'rule'> & { readonly count: number })[];
  /** Reviews of emergencies that are open, and those of them that are overdue. */
  readonly retrospectives: { readonly open: number; readonly overdue: number };
  readonly deliveries: DeliveryGauges;
  readonly deliveryResults: readonly DeliveryResults[];
  readonly auditRecords: number;
}

/** Of the events that the outbox still holds; an event and an endpoint that wants it are one delivery. */
export interface DeliveryGauges {
  readonly waiting: number;
  readonly delivered: number;
  readonly givenUp: number;
  /** When the first of those that wait was, or is, due; null where none waits. */
  readonly dueAtMs: number | null;
}

/** What became of attempts to deliver, since they are counted; they only rise. */
export interface DeliveryResults {
  readonly channel: DeliveryChannel;
  readonly delivered: number;
  /** Attempts that failed and are tried again. */
  readonly failed: number;
  readonly givenUp: number;
}

/** Each number by one statement: over an index where the table grows, and none opens a card. */
export async function readGauges(db: Db, { nowMs, policy }: { nowMs: number; policy: Policy | null }): Promise<Gauges> {
  return {
    pending: await pendingRequests(db),
    operations: await openOperations(db),
    grants: await grantsLive(db, nowMs, policy),
    retrospectives: await openRetrospectives(db, nowMs),
    deliveries: await deliveriesNow(db),
    deliveryResults: await deliveryResults(db),
    auditRecords: await latestSeq(db),
  };
}

function pendingRequests(db: Db): Promise<Gauges['pending']> {
  return db
    .selectFrom('requests')
    .select(['rule_id as rule', 'server', 'tool'])
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min<number>('opened_at').as('oldestAtMs')])
    .where('state', '=', 'pending')
    .groupBy(['rule_id', 'server', 'tool'])
    .execute();
}

async function openOperations(db: Db): Promise<Gauges['operations']> {
  const rows = await db
    .selectFrom('operations')
    .select('state')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', 'in', ['dispatched', 'unknown'])
    .groupBy('state')
    .execute();
  const countOf = (state: string): number => rows.find((row) => row.state === state)?.count ?? 0;
  return { dispatched: countOf('dispatched'), unknown: countOf('unknown') };
}

async function grantsLive(db: Db, nowMs: number, policy: Policy | null): Promise<Gauges['grants']> {
  const byPlace = new Map<string, Gauges['grants'][number]>();
  for (const { server, tool } of await liveGrants(db, nowMs, policy)) {
    const key = JSON.stringify([server, tool]);
    byPlace.set(key, { server, tool, count: (byPlace.get(key)?.count ?? 0) + 1 });
  }
  return [...byPlace.values()];
}

function openRetrospectives(db: Db, nowMs: number): Promise<Gauges['retrospectives']> {
  return db
    .selectFrom('retrospectives')
    .select((eb) => [
      eb.fn.countAll<number>().as('open'),
      eb.fn.countAll<number>().filterWhere('due_at', '<=', nowMs).as('overdue'),
    ])
    .where('closed_at', 'is', null)
    .executeTakeFirstOrThrow();
}

async function deliveriesNow(db: Db): Promise<DeliveryGauges> {
  return db
    .selectFrom('deliveries')
    .select((eb) => {
      const isOpen = eb.and([eb('delivered_at', 'is', null), eb('given_up_at', 'is', null)]);
      return [
        eb.fn.countAll<number>().filterWhere(isOpen).as('waiting'),
        eb.fn.count<number>('delivered_at').as('delivered'),
        eb.fn
          .countAll<number>()
          .filterWhere(eb.and([eb('delivered_at', 'is', null), eb('given_up_at', 'is not', null)]))
          .as('givenUp'),
        eb.fn.min<number | null>('due_at').filterWhere(isOpen).as('dueAtMs'),
      ];
    })
    .executeTakeFirstOrThrow();
}

async function deliveryResults(db: Db): Promise<readonly DeliveryResults[]> {
  const rows = await db
    .selectFrom('endpoints')
    .select('channel')
    .select((eb) => [
      eb.fn.sum<number | string>('delivered').as('delivered'),
      eb.fn.sum<number | string>('failed').as('failed'),
      eb.fn.sum<number | string>('given_up').as('givenUp'),
    ])
    .groupBy('channel')
    .orderBy('channel')
    .execute();
  // An endpoint of an older ledger says what it is once it is served again; nothing was counted there.
  return rows.flatMap(({ channel, delivered, failed, givenUp }) =>
    channel === '' ? [] : [{ channel, delivered: Number(delivered), failed: Number(failed), givenUp: Number(givenUp) }],
  );
}

/**
 * The number of the last audit record before a time, 0 where all are after it. Records are in the order of commits, so
 * their times rise, and twenty looks at the primary key find the place among a million.
 */
export async function lastRecordBefore(db: Db, atMs: number): Promise<number> {
  let [low, high] = [0, await latestSeq(db)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = await db.selectFrom('audit').select('at').where('seq', '=', middle).executeTakeFirst();
    if (row !== undefined && row.at < atMs) low = middle;
    else high = middle - 1;
  }
  return low;
}
