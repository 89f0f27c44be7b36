import { deliveriesAbout } from '../../ledger/deliveries-about';
import { claimDeliveries, hasDeliveries, recordDelivered, recordFailed, recordUnsent } from '../../ledger/outbox';
import type { OutboxReader } from '../../ledger/outbox';
import type { Store } from '../../ledger/transaction';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const START_MS = Date.UTC(2026, 0, 1);

/** `b` is due after a minute, `c` never. */
const later: OutboxReader = {
  endpoint: 'ops',
  wants: (type) => type.startsWith('dev.holdpoint.'),
  dueAtMs: ({ eventId, createdAtMs }) => (eventId === 'c' ? null : createdAtMs + (eventId === 'b' ? 60_000 : 0)),
};

describe.each(STORE_KINDS)('deliveries with a time of their own on %s', (kind) => {
  let fresh: FreshStore;
  let store: Store;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = START_MS;
    fresh = await freshStore(kind, { clock: () => nowMs });
    store = fresh.store;
    await claim();
  });
  afterEach(() => fresh.remove());

  const claim = () => claimDeliveries(store, { reader: later, limit: 10, leaseMs: 30_000 });
  const emit = (...ids: string[]) =>
    store.write(async (tx) => {
      for (const id of ids) tx.emit({ id, type: `dev.holdpoint.${id}`, subject: null, data: {} });
    });
  const rows = () =>
    store.db.selectFrom('deliveries').select(['attempts', 'due_at', 'delivered_at', 'last_error']).execute();

  it('are handed out at that time, not before, and what is wanted at none is not kept', async () => {
    await emit('a', 'b', 'c');
    expect((await claim()).map(({ eventId }) => eventId)).toEqual(['a']);
    nowMs += 59_999;
    expect(await hasDeliveries(store.db, { endpoint: 'ops', nowMs: START_MS + 29_999 })).toBe(false);
    await recordDelivered(store, { ...(await claim())[0]! });
    expect(await claim()).toEqual([]);
    nowMs += 1;
    expect((await claim()).map(({ eventId, type }) => [eventId, type])).toEqual([['b', 'dev.holdpoint.b']]);
    expect(await rows()).toHaveLength(2);
  });

  it('what turned out to be superfluous is over, with its reason and without an attempt', async () => {
    await emit('a');
    const [delivery] = await claim();
    await recordUnsent(store, { delivery: delivery!, reason: 'it waits no more', againInMs: null });
    expect(await rows()).toEqual([
      { attempts: 0, due_at: START_MS + 30_000, delivered_at: START_MS, last_error: 'not sent: it waits no more' },
    ]);
    nowMs += 60_000;
    expect(await claim()).toEqual([]);
  });

  it('what is put off comes again at its time, as the same attempt', async () => {
    await emit('a');
    const [delivery] = await claim();
    await recordUnsent(store, { delivery: delivery!, reason: 'too early', againInMs: 5_000 });
    nowMs += 4_999;
    expect(await claim()).toEqual([]);
    nowMs += 1;
    expect((await claim()).map(({ attempt }) => attempt)).toEqual([1]);
  });

  it('tells whether something may have arrived and may still arrive, by the beginnings of ids', async () => {
    const about = (...prefixes: string[]) => deliveriesAbout(store.db, { endpoints: ['ops', 'none'], prefixes });
    await emit('op_1:1:opened', 'op_1:1:escalated:1', 'op_2:1:opened', 'op_3:1:opened');
    const claimed = await claim();
    expect(claimed).toHaveLength(4);
    const of = (id: string) => claimed.find(({ eventId }) => eventId === id)!;
    expect(await about('op_1:1:opened')).toEqual({ tried: true, underWay: true, known: true });
    await recordDelivered(store, of('op_1:1:opened'));
    await recordUnsent(store, { delivery: of('op_2:1:opened'), reason: 'closed', againInMs: null });
    await recordFailed(store, { delivery: of('op_3:1:opened'), error: 'HTTP 404', retryInMs: null });
    expect(await about('op_1:1:opened')).toEqual({ tried: true, underWay: false, known: true });
    expect(await about('op_1:1:opened', 'op_1:1:escalated')).toEqual({ tried: true, underWay: true, known: true });
    expect(await about('op_2:1:')).toEqual({ tried: false, underWay: false, known: true });
    expect(await about('op_3:1:')).toEqual({ tried: true, underWay: false, known: true });
    expect(await about('op_4:1:')).toEqual({ tried: false, underWay: false, known: false });
    expect(await deliveriesAbout(store.db, { endpoints: ['other'], prefixes: ['op_1'] })).toMatchObject({
      tried: false,
      known: true,
    });
  });
});
