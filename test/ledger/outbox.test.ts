import { HTTP, type CloudEvent } from 'cloudevents';
import { readGauges } from '../../ledger/metrics';
import { readEpoch } from '../../ledger/meta';
import {
  claimDeliveries,
  hasDeliveries,
  recordDelivered,
  recordFailed,
  recordUnsent,
  type ClaimedDelivery,
  type OutboxReader,
} from '../../ledger/outbox';
import { givenUpEvents, pruneOutbox } from '../../ledger/outbox-upkeep';
import type { Store } from '../../ledger/transaction';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const all: OutboxReader = { endpoint: 'ops', wants: () => true };

describe.each(STORE_KINDS)('the outbox on %s', (kind) => {
  let fresh: FreshStore;
  let store: Store;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = Date.UTC(2026, 0, 1);
    fresh = await freshStore(kind, { clock: () => nowMs });
    store = fresh.store;
    expect(await claim()).toEqual([]);
  });
  afterEach(() => fresh.remove());

  const emit = (...ids: string[]) =>
    store.write(async (tx) => {
      for (const id of ids) tx.emit({ id, type: `dev.holdpoint.${id}`, subject: 'op_1', data: { id } });
    });
  const claim = (reader = all, { limit = 10, from = store } = {}) =>
    claimDeliveries(from, { reader, limit, leaseMs: 30_000 });
  const ids = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ eventId }) => eventId);
  const has = () => hasDeliveries(store.db, { endpoint: 'ops', nowMs });

  it('hands events out in the order of their commits, each once while its lease lasts', async () => {
    await emit('a', 'b');
    await emit('c');
    expect(ids(await claim())).toEqual(['a', 'b', 'c']);
    nowMs += 29_999;
    expect(await claim()).toEqual([]);
  });

  it('hands an event out again when its lease is over, with the number of the attempt', async () => {
    await emit('a');
    const [first] = await claim();
    nowMs += 30_000;
    const [second] = await claim();
    expect([first, second]).toEqual([
      {
        endpoint: 'ops',
        position: first!.position,
        eventId: 'a',
        type: 'dev.holdpoint.a',
        body: first!.body,
        attempt: 1,
        createdAtMs: Date.UTC(2026, 0, 1),
      },
      { ...first, attempt: 2 },
    ]);
  });

  it('takes no more than asked for, the oldest first', async () => {
    await emit('a', 'b', 'c');
    expect(ids(await claim(all, { limit: 2 }))).toEqual(['a', 'b']);
    expect(ids(await claim(all, { limit: 2 }))).toEqual(['c']);
  });

  it('never hands out what was delivered, also when the lease was over by then', async () => {
    await emit('a');
    const [delivery] = await claim();
    nowMs += 30_000;
    await claim();
    await recordDelivered(store, delivery!);
    nowMs += 1_000_000;
    expect(await claim()).toEqual([]);
    expect(await has()).toBe(false);
  });

  it('hands a failed event out at its time, not before', async () => {
    await emit('a');
    const [delivery] = await claim();
    await recordFailed(store, { delivery: delivery!, error: 'HTTP 503', retryInMs: 5_000 });
    nowMs += 4_999;
    expect([await has(), await claim()]).toEqual([false, []]);
    nowMs += 1;
    expect([await has(), ids(await claim())]).toEqual([true, ['a']]);
  });

  it('a failure that is noted after the lease does not shorten the next one', async () => {
    await emit('a');
    const [first] = await claim();
    nowMs += 30_000;
    await claim();
    await recordFailed(store, { delivery: first!, error: 'timeout', retryInMs: 0 });
    expect(await claim()).toEqual([]);
  });

  it('an event that was given up is kept with its last error and not handed out', async () => {
    await emit('a');
    const [delivery] = await claim();
    await recordFailed(store, { delivery: delivery!, error: 'HTTP 410', retryInMs: null });
    nowMs += 1_000_000;
    expect(await claim()).toEqual([]);
    const rows = await store.db.selectFrom('deliveries').select(['attempts', 'given_up_at', 'last_error']).execute();
    expect(rows).toEqual([{ attempts: 1, given_up_at: Date.UTC(2026, 0, 1), last_error: 'HTTP 410' }]);
  });

  it('each endpoint has its own deliveries, of the types that it wants', async () => {
    const other = { endpoint: 'other', wants: (type: string) => type === 'dev.holdpoint.b' };
    await claim(other);
    await emit('a', 'b', 'c');
    const [delivery] = await claim(all);
    await recordDelivered(store, delivery!);
    expect(ids(await claim(other))).toEqual(['b']);
  });

  it('an endpoint that is new gets what is emitted from then on', async () => {
    await emit('before');
    const late = { endpoint: 'late', wants: () => true };
    expect(await hasDeliveries(store.db, { endpoint: 'late', nowMs })).toBe(true);
    expect(await claim(late)).toEqual([]);
    expect(await hasDeliveries(store.db, { endpoint: 'late', nowMs })).toBe(false);
    await emit('after');
    expect(ids(await claim(late))).toEqual(['after']);
  });

  it('several processes that claim and emit at once get each event once, and miss none', async () => {
    const others = [store, await fresh.another(), await fresh.another()];
    const expected: string[] = [];
    const emitting = Array.from({ length: 120 }, async (_, n) => {
      expected.push(`e${n}`);
      await others[n % 3]!.write(async (tx) => tx.emit({ id: `e${n}`, type: 't', subject: null, data: {} }));
    });
    const claimed: string[] = [];
    const claiming = others.map(async (from) => {
      for (let rounds = 0; rounds < 40; rounds += 1) claimed.push(...ids(await claim(all, { limit: 4, from })));
    });
    await Promise.all([...emitting, ...claiming]);
    for (let more = await claim(); more.length > 0; more = await claim()) claimed.push(...ids(more));
    expect(claimed.sort()).toEqual(expected.sort());
  });

  describe('is pruned', () => {
    const DAY_MS = 86_400_000;
    const START = Date.UTC(2026, 0, 1);
    const kept = async () =>
      (await store.db.selectFrom('outbox').select('event_id').orderBy('position').execute()).map((row) => row.event_id);
    const deliver = async (reader = all) => {
      for (const delivery of await claim(reader)) await recordDelivered(store, delivery);
    };

    it('of what was delivered, a week later and no sooner', async () => {
      await emit('a');
      await deliver();
      nowMs = START + 7 * DAY_MS;
      expect([await pruneOutbox(store), await kept()]).toEqual([0, ['a']]);
      await emit('b');
      nowMs += 1;
      expect([await pruneOutbox(store), await kept()]).toEqual([1, ['b']]);
      expect(await store.db.selectFrom('deliveries').selectAll().execute()).toEqual([]);
      expect(ids(await claim())).toEqual(['b']);
    });

    it('of what an endpoint was not given, was not asked about, or still waits for, only after a month', async () => {
      await claim({ endpoint: 'away', wants: () => true });
      await emit('a', 'b');
      const [first, second] = await claim();
      await recordFailed(store, { delivery: first!, error: 'HTTP 410', retryInMs: null });
      await recordDelivered(store, second!);
      nowMs = START + 30 * DAY_MS;
      expect([await pruneOutbox(store), await kept()]).toEqual([0, ['a', 'b']]);
      nowMs += 1;
      expect([await pruneOutbox(store), await kept()]).toEqual([2, []]);
      await emit('c');
      expect(ids(await claim())).toEqual(['c']);
    });

    it('of what was for nobody, past what is still waited for, in one go', async () => {
      await emit('waits');
      await claim();
      await emit(...Array.from({ length: 450 }, (_, n) => `e${n}`));
      await claim({ endpoint: 'ops', wants: () => false });
      nowMs = START + 8 * DAY_MS;
      expect([await pruneOutbox(store), await kept()]).toEqual([450, ['waits']]);
    });
  });

  it('tells what was given up, by endpoint, with the latest reason', async () => {
    const other = { endpoint: 'other', wants: () => true };
    await claim(other);
    await emit('a', 'b');
    const giveUp = async (reader: OutboxReader, error: string) => {
      const [delivery] = await claim(reader, { limit: 1 });
      await recordFailed(store, { delivery: delivery!, error, retryInMs: null });
      nowMs += 1;
    };
    await giveUp(all, 'HTTP 500');
    await giveUp(other, 'no answer within 15000 ms');
    await giveUp(all, 'HTTP 410');
    expect(await givenUpEvents(store.db)).toEqual([
      { endpoint: 'ops', count: 2, lastError: 'HTTP 410' },
      { endpoint: 'other', count: 1, lastError: 'no answer within 15000 ms' },
    ]);
  });

  it('counts results of attempts by what the endpoint is reached by, each once, beyond the time that it keeps events', async () => {
    const slack: OutboxReader = { endpoint: 'notify:dba', channel: 'slack', wants: all.wants };
    await claim(slack);
    await emit('a', 'b');
    const [late, refused] = await claim(slack);
    nowMs += 30_000;
    const [again] = await claim(slack, { limit: 1 });
    await recordFailed(store, { delivery: late!, error: 'not its turn any more', retryInMs: null });
    await recordFailed(store, { delivery: again!, error: 'HTTP 500', retryInMs: 0 });
    await recordFailed(store, { delivery: refused!, error: 'HTTP 410', retryInMs: null });
    const [last] = await claim(slack, { limit: 1 });
    await recordDelivered(store, last!);
    await recordDelivered(store, last!);
    const [unsent] = await claim(all, { limit: 1 });
    await recordUnsent(store, { delivery: unsent!, reason: 'it waits no more', againInMs: null });
    nowMs += 31 * 86_400_000;
    expect(await pruneOutbox(store)).toBe(2);
    const { deliveries, deliveryResults } = await readGauges(store.db, { nowMs, policy: null });
    expect(deliveries).toMatchObject({ waiting: 0, delivered: 0, givenUp: 0 });
    expect(deliveryResults).toEqual([
      { channel: 'slack', delivered: 1, failed: 1, givenUp: 1 },
      { channel: 'webhook', delivered: 0, failed: 0, givenUp: 0 },
    ]);
  });

  it('stores a CloudEvent that the CloudEvents SDK reads, with these attributes and no other', async () => {
    await store.write(async (tx) =>
      tx.emit({
        id: 'op_1:1:opened',
        type: 'dev.holdpoint.request.opened',
        subject: 'op_1',
        data: { text: 'é"\n', n: 1 },
      }),
    );
    const [delivery] = await claim();
    const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
    const event = HTTP.toEvent({ headers, body: delivery!.body }) as CloudEvent<unknown>;
    expect(event.validate()).toBe(true);
    expect(event.toJSON()).toEqual({
      specversion: '1.0',
      id: 'op_1:1:opened',
      type: 'dev.holdpoint.request.opened',
      source: `urn:uuid:${await readEpoch(store.db)}`,
      subject: 'op_1',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      data: { text: 'é"\n', n: 1 },
    });
  });

  it('leaves out a subject that there is not', async () => {
    await store.write(async (tx) => tx.emit({ id: 'a', type: 't', subject: null, data: {} }));
    const [delivery] = await claim();
    expect(Object.keys(JSON.parse(delivery!.body) as object)).toEqual([
      'data',
      'datacontenttype',
      'id',
      'source',
      'specversion',
      'time',
      'type',
    ]);
  });
});
