import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { latestSeq } from '../../ledger/changes';
import type { MetricEvent } from '../../ledger/metric-event';
import { metricEvents } from '../../ledger/metric-events';
import { lastRecordBefore, readGauges } from '../../ledger/metrics';
import { drive } from '../support/driven-ledger';
import { activate, openPending, prepared } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const T0 = Date.UTC(2026, 0, 1, 10);
const SECOND = 1_000;
const HOUR = 3_600_000;

/** Each event as a line, and how often it is there. */
function tally(events: readonly MetricEvent[]): Readonly<Record<string, number>> {
  const lines: Record<string, number> = {};
  for (const { atMs: _atMs, type, ...event } of events) {
    const line = [type, ...Object.values(event).map(String)].join(' ');
    lines[line] = (lines[line] ?? 0) + 1;
  }
  return lines;
}

describe.each(STORE_KINDS)('the numbers of a ledger on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  const clock = { nowMs: T0 };

  beforeAll(async () => {
    fresh = await freshStore(kind, { clock: () => clock.nowMs });
    clock.nowMs = T0;
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await drive(ledger, clock);
  });
  afterAll(() => fresh.remove());

  const db = () => fresh.store.db;
  const eventsIn = async (after: number, upTo: number) => {
    const events: MetricEvent[] = [];
    for await (const page of metricEvents(db(), { after, upTo })) events.push(...page.events);
    return events;
  };

  test('each thing that happened is counted once, by names of the policy', async () => {
    const events = await eventsIn(0, await latestSeq(db()));
    const [deletes, drops] = [
      'production-migrations orders-db delete_rows',
      'production-migrations orders-db drop_table',
    ];
    const truncate = 'production-migrations orders-db truncate';
    expect(tally(events)).toEqual({
      [`opened ${deletes} first false false`]: 4,
      [`opened ${deletes} first true false`]: 1,
      [`opened ${deletes} first true true`]: 1,
      [`decided ${deletes} allow cli r1 90000`]: 1,
      [`decided ${deletes} deny console r2 20000`]: 1,
      [`decided ${deletes} allow console r1 3000`]: 1,
      [`decided ${deletes} allow console r2 3000`]: 1,
      [`closed ${deletes} allowed`]: 3,
      [`closed ${deletes} denied`]: 1,
      [`closed ${deletes} expired`]: 1,
      [`escalated ${deletes}`]: 1,
      [`opened ${drops} first false false`]: 2,
      [`opened ${drops} resourceChanged false false`]: 1,
      [`decided ${drops} allow console r1 400000`]: 1,
      [`decided ${drops} allow console r3 10000`]: 1,
      [`closed ${drops} allowed`]: 2,
      [`closed ${drops} withdrawn`]: 1,
      [`stale ${drops} resourceChanged`]: 1,
      [`opened ${truncate} first false false`]: 1,
      [`escalated ${truncate}`]: 1,
      [`decided ${truncate} allow console l1 7200000`]: 1,
      [`closed ${truncate} allowed`]: 1,
      'opened null mail send first false false': 1,
      'notCounted notAReviewer': 1,
      'notCounted malformed': 1,
      'callRefused TOOL_UNKNOWN': 1,
      'notAsked noRule': 1,
      'notAsked grant': 1,
      'sent orders-db delete_rows': 3,
      'sent orders-db drop_table': 1,
      'sent orders-db truncate': 2,
      'sent mail read': 1,
      'ended orders-db delete_rows executed true': 2,
      'ended orders-db delete_rows failed true': 1,
      'ended orders-db drop_table unknown true': 1,
      'ended orders-db truncate executed true': 1,
      'ended mail read executedWithError false': 1,
      'settled orders-db drop_table executed': 1,
      'lookedUp orders-db delete_rows absent': 1,
      'lookedUp orders-db delete_rows executed': 1,
    });
  });

  test('the same is counted in parts as in one, also by who sees it later', async () => {
    const head = await latestSeq(db());
    const parts = [];
    for (let after = 0; after < head; after += 7) parts.push(...(await eventsIn(after, Math.min(after + 7, head))));
    expect(parts).toEqual(await eventsIn(0, head));
  });

  test('how things stand now is read beside it', async () => {
    const gauges = await readGauges(db(), { nowMs: clock.nowMs, policy: active.policy });
    const at = { server: 'orders-db', tool: 'delete_rows' };
    expect({ ...gauges, pending: new Set(gauges.pending), auditRecords: null }).toEqual({
      retrospectives: { open: 0, overdue: 0 },
      pending: new Set([
        { rule: 'production-migrations', ...at, count: 1, oldestAtMs: clock.nowMs - 300 * SECOND },
        { rule: null, server: 'mail', tool: 'send', count: 1, oldestAtMs: clock.nowMs - 60 * SECOND },
      ]),
      operations: { dispatched: 1, unknown: 0 },
      grants: [{ server: 'orders-db', tool: 'truncate', count: 1 }],
      deliveries: { waiting: 28, delivered: 1, givenUp: 1, dueAtMs: clock.nowMs },
      deliveryResults: [{ channel: 'webhook', delivered: 1, failed: 0, givenUp: 1 }],
      auditRecords: null,
    });
    expect(gauges.auditRecords).toBe(await latestSeq(db()));
  });

  test('an operation is unknown until a person settles it', async () => {
    const call = prepared({ tool: 'drop_index', ask: null });
    await ledger.dispatch(call.dispatching(active));
    await ledger.recordOutcome(call.ref.operationId, { outcome: 'unknown', detail: 'no answer' });
    const open = async () => (await readGauges(db(), { nowMs: clock.nowMs, policy: active.policy })).operations;
    expect(await open()).toEqual({ dispatched: 1, unknown: 1 });
    await ledger.settle({ operationId: call.ref.operationId, outcome: 'failed', by: 'omar', reason: 'not there' });
    expect(await open()).toEqual({ dispatched: 1, unknown: 0 });
  });

  test('a grant that the active policy covers no more, or that has ended, is live no more', async () => {
    const grantsBy = async (nowMs: number, policy: Active['policy'] | null) =>
      (await readGauges(db(), { nowMs, policy })).grants;
    expect(await grantsBy(clock.nowMs + 13 * HOUR, active.policy)).toEqual([]);
    expect(await grantsBy(clock.nowMs, { ...active.policy, rules: [] })).toEqual([]);
    expect(await grantsBy(clock.nowMs, null)).toEqual([]);
  });

  test('the last record before a time is found, and none before the first', async () => {
    const head = await latestSeq(db());
    expect(await lastRecordBefore(db(), T0)).toBe(0);
    expect(await lastRecordBefore(db(), clock.nowMs + 1)).toBe(head);
    const before = await lastRecordBefore(db(), T0 + 90 * SECOND);
    const [next, last] = await Promise.all(
      [before + 1, before].map((seq) =>
        db().selectFrom('audit').select('at').where('seq', '=', seq).executeTakeFirst(),
      ),
    );
    expect([last?.at, next?.at]).toEqual([T0, T0 + 90 * SECOND]);
  });
});

describe.each(STORE_KINDS)('what was asked again, on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;

  beforeAll(async () => {
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger);
  });
  afterAll(() => fresh.remove());

  const isRepeated = async (call: ReturnType<typeof prepared>) => {
    const after = await latestSeq(fresh.store.db);
    await openPending(ledger, call, active);
    const upTo = await latestSeq(fresh.store.db);
    for await (const { events } of metricEvents(fresh.store.db, { after, upTo }))
      for (const event of events) if (event.type === 'opened') return event.repeated;
    throw new Error('not opened');
  };

  test('is a repeat within a day, and only of the same requester and arguments', async () => {
    const other = { subject: 'another', agent: 'bot', chain: [] };
    expect(await isRepeated(prepared())).toBe(false);
    expect(await isRepeated(prepared({ requester: other }))).toBe(false);
    expect(await isRepeated(prepared({ arguments: { id: 2 } }))).toBe(false);
    nowMs += 24 * HOUR - 1;
    expect(await isRepeated(prepared())).toBe(true);
    nowMs += 24 * HOUR;
    expect(await isRepeated(prepared())).toBe(false);
  });
});
