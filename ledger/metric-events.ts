import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { isJsonObject, type JsonObject } from '../core/json';
import type { MetricEvent } from './metric-event';
import {
  eventsOf,
  METRIC_KINDS,
  requestKey,
  type FactToCount,
  type KnownOperation,
  type KnownRequest,
} from './metric-facts';
import { factBodyOf } from './rows';
import type { Database } from './schema';

type Db = Kysely<Database>;

/** Records of the audit: those behind `after`, up to and including `upTo`. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** Facts that are read at once. */
const PAGE = 2_000;
const DAY_MS = 86_400_000;

/** What came of a part of a span: all of it up to the record `upTo`. */
export interface EventPage {
  readonly upTo: number;
  readonly events: readonly MetricEvent[];
}

/**
 * What is counted in a span of the audit, in the order of commits. A fact never changes, and neither does what is read
 * beside it, so that whoever reads the same span counts the same, in parts or as a whole.
 */
export async function* metricEvents(db: Db, { after, upTo }: Span): AsyncGenerator<EventPage> {
  let from = after;
  while (from < upTo) {
    const facts = await readFacts(db, { after: from, upTo });
    // A page that is not full has all that there is.
    from = facts.length < PAGE ? upTo : (facts.at(-1)?.seq ?? upTo);
    const [requests, operations] = [await requestsOf(db, facts), await operationsOf(db, facts)];
    yield { upTo: from, events: facts.flatMap((fact) => eventsOf(fact, { requests, operations })) };
    // Reading SQLite never waits, so the event loop gets its turn here.
    await nextTurn();
  }
}

type ReadFact = FactToCount & { readonly seq: number };

async function readFacts(db: Db, { after, upTo }: Span): Promise<readonly ReadFact[]> {
  const rows = await db
    .selectFrom('audit')
    .select(['seq', 'at', 'kind', 'operation_id as operationId', 'body'])
    .where('seq', '>', after)
    .where('seq', '<=', upTo)
    .where('kind', 'in', METRIC_KINDS)
    .orderBy('seq')
    .limit(PAGE)
    .execute();
  return rows.map(({ seq, at, kind, operationId, body }) => ({
    ...{ seq, atMs: at, kind, operationId },
    body: objectOf(factBodyOf(body)),
  }));
}

function objectOf(value: ReturnType<typeof factBodyOf>): JsonObject {
  return isJsonObject(value) ? value : {};
}

async function requestsOf(db: Db, facts: readonly ReadFact[]): Promise<ReadonlyMap<string, KnownRequest>> {
  const ids = idsOf(facts, (kind) => /^(request|decision)\./.test(kind));
  if (ids.length === 0) return new Map();
  const opened = idsOf(facts, (kind) => kind === 'request.opened');
  const before = await askedBefore(db, opened);
  const rows = await db
    .selectFrom('requests')
    .select(['operation_id as id', 'revision', 'rule_id as rule', 'server', 'tool', 'opened_at as openedAtMs'])
    .where('operation_id', 'in', ids)
    .execute();
  return new Map(
    rows.map(({ id, revision, ...row }) => {
      const { repeated = false, afterDenial = false } = revision === 1 ? (before.get(id) ?? {}) : {};
      return [requestKey(id, revision), { ...row, repeated, afterDenial }];
    }),
  );
}

interface AskedBefore {
  readonly repeated: boolean;
  readonly afterDenial: boolean;
}

/** Which of these operations had been asked about by their requester within the day before, under another id. */
async function askedBefore(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, AskedBefore>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('requests as r')
    .select('r.operation_id as id')
    .select([earlier('opened_at').as('opened'), earlier('closed_at').as('denied')])
    .where('r.operation_id', 'in', ids)
    .where('r.revision', '=', 1)
    .execute();
  return new Map(
    rows.map(({ id, opened, denied }) => [id, { repeated: opened === 1, afterDenial: denied === 1 }] as const),
  );
}

/** 1 where the same binding was asked about, or denied. The binding says whose it is: nobody else's is the same. */
function earlier(at: 'opened_at' | 'closed_at') {
  const column = sql.ref(`p.${at}`);
  const denied = at === 'closed_at' ? sql`and p.state = 'denied'` : sql``;
  return sql<0 | 1>`case when exists (
    select 1 from requests p
    where p.binding_digest = r.binding_digest ${denied}
      and ${column} > r.opened_at - ${sql.lit(DAY_MS)} and ${column} <= r.opened_at
      and (p.opened_at < r.opened_at or p.operation_id < r.operation_id)
  ) then 1 else 0 end`;
}

async function operationsOf(db: Db, facts: readonly ReadFact[]): Promise<ReadonlyMap<string, KnownOperation>> {
  const ids = idsOf(facts, (kind) => kind.startsWith('operation.'));
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('operations')
    .select(['operation_id as id', 'server', 'tool'])
    .select((eb) => eb.case().when('grant_id', 'is', null).then(0).else(1).end().as('approved'))
    .where('operation_id', 'in', ids)
    .execute();
  return new Map(rows.map(({ id, approved, ...row }) => [id, { ...row, approved: approved === 1 }]));
}

function idsOf(facts: readonly ReadFact[], isOf: (kind: string) => boolean): readonly string[] {
  const ids = facts.flatMap(({ kind, operationId }) => (operationId !== null && isOf(kind) ? [operationId] : []));
  return [...new Set(ids)];
}
