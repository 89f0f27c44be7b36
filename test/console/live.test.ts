import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Hono } from 'hono';
import { atMost } from '../../console/live/at-most';
import { createConcerned } from '../../console/live/concerned';
import { createLive } from '../../console/live/create-live';
import { openLiveFeed, type ResumableFeed } from '../../console/live/live-feed';
import type { Env, LiveChange, Viewer } from '../../console/ports';
import { changesAfter, latestSeq } from '../../ledger/changes';
import { createLedger } from '../../ledger/ledger';
import { breakable } from '../support/breakable-store';
import { CONSOLE_POLICY, answering, consoleApi, type ConsoleApi } from '../support/console-api';
import { readEvents, type EventReader } from '../support/event-reader';
import { eventually } from '../support/eventually';
import { activate, openPending, prepared } from '../support/ledger-fixture';
import { recordedLog } from '../support/recorded-log';
import { STORE_KINDS, freshStore } from '../support/stores';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(...options: Parameters<typeof consoleApi>): Promise<ConsoleApi> {
  const api = await consoleApi(...options);
  closing.push(() => api.close());
  return api;
}

async function follow(api: ConsoleApi, name: string, headers = {}): Promise<EventReader> {
  const reader = await readEvents(`${api.url}/events`, { authorization: name, ...headers });
  closing.push(() => reader.close());
  if (reader.status === 200)
    await eventually(() => {
      if (reader.lastId() === '') throw new Error('nothing came yet');
    });
  return reader;
}

const of = (subject: string) => ({ subject: `user:${subject}`, agent: 'bot', chain: [] });
const kindsOf = (changes: readonly LiveChange[]) => changes.map(({ kind }) => kind);

describe.each(STORE_KINDS)('the changes of a ledger on %s', (kind) => {
  it('come in the order of commits, after any of them, as many as asked for', async () => {
    const fresh = await freshStore(kind);
    closing.push(() => fresh.remove());
    const ledger = createLedger(fresh.store, { defaultTrust: 'signatures' });
    expect(await latestSeq(fresh.store.db)).toBe(0);
    const active = await activate(ledger, CONSOLE_POLICY);
    const { operationId } = await openPending(ledger, prepared(), active);
    expect(await latestSeq(fresh.store.db)).toBe(3);
    expect(await changesAfter(fresh.store.db, { after: 0, limit: 2 })).toEqual([
      { seq: 1, kind: 'policy.applied', operationId: null },
      { seq: 2, kind: 'call.proposed', operationId },
    ]);
    expect(await changesAfter(fresh.store.db, { after: 2, limit: 9 })).toEqual([
      { seq: 3, kind: 'request.opened', operationId },
    ]);
  });
});

describe('the feed', () => {
  async function fed() {
    const fresh = await freshStore('sqlite');
    const log = recordedLog();
    const store = breakable(fresh.store);
    const ledger = createLedger(fresh.store, { defaultTrust: 'signatures' });
    const active = await activate(ledger, CONSOLE_POLICY);
    const live = openLiveFeed({ store, log });
    closing.push(() => fresh.remove());
    closing.push(() => live.close());
    const heard = (feed: ResumableFeed) => {
      const changes: LiveChange[] = [];
      const stop = feed.subscribe((change) => changes.push(change));
      return { changes, stop };
    };
    const ask = (turnId: string) => openPending(ledger, prepared({ turnId, requester: of(turnId) }), active);
    return { store, log, live, heard, ask };
  }

  const heardOf = (changes: readonly LiveChange[], count: number) =>
    eventually(() => {
      expect(changes).toHaveLength(count);
    });

  it('tells everybody who listens of every change from then on, once', async () => {
    const { live, heard, ask } = await fed();
    await ask('before');
    const first = heard(live);
    await live.latest();
    const second = heard(live);
    await ask('t1');
    await heardOf(first.changes, 2);
    expect(first.changes).toEqual(second.changes);
    second.stop();
    await ask('t2');
    await heardOf(first.changes, 4);
    expect(second.changes).toHaveLength(2);
  });

  it('asks nothing of the ledger while nobody listens, and tells nothing old when somebody does again', async () => {
    const { live, heard, ask, store } = await fed();
    const first = heard(live);
    await live.latest();
    first.stop();
    store.down = true;
    // The time of two polls; one may have been on its way.
    await delay(600);
    expect(store.refused).toBeLessThanOrEqual(1);
    store.down = false;
    await ask('meanwhile');
    const second = heard(live);
    await live.latest();
    await ask('after');
    await heardOf(second.changes, 2);
    expect(second.changes.map(({ seq }) => seq)).toEqual([4, 5]);
  });

  it('survives a ledger that is away: says so once, and misses nothing', async () => {
    const { live, heard, ask, store, log } = await fed();
    const { changes } = heard(live);
    await live.latest();
    store.down = true;
    await eventually(() => {
      expect(store.refused).toBeGreaterThan(2);
    });
    await ask('meanwhile');
    store.down = false;
    await heardOf(changes, 2);
    await eventually(() => {
      expect(log.entries.map(({ event }) => event)).toEqual(['console.live.ledgerAway', 'console.live.ledgerBack']);
    });
  });

  it('tells the others though one of them fails', async () => {
    const { live, heard, ask, log } = await fed();
    live.subscribe(() => {
      throw new Error('broken');
    });
    const { changes } = heard(live);
    await live.latest();
    await ask('t1');
    await heardOf(changes, 2);
    expect(log.entries.filter(({ event }) => event === 'console.live.listenerFailed')).toHaveLength(2);
  });

  it('gives what came after any change, from memory or from the ledger', async () => {
    const { live, heard, ask } = await fed();
    await ask('before');
    const { changes } = heard(live);
    await live.latest();
    await ask('t1');
    await heardOf(changes, 2);
    const seqs = async (after: number) => (await live.after(after)).map(({ seq }) => seq);
    expect(await seqs(0)).toEqual([1, 2, 3, 4, 5]);
    expect(await seqs(3)).toEqual([4, 5]);
    expect(await seqs(4)).toEqual([5]);
    expect(await seqs(5)).toEqual([]);
  });
});

describe('the stream of events', () => {
  let shared: ConsoleApi;

  beforeAll(async () => {
    shared = await consoleApi();
  });

  afterAll(() => shared.close());

  it('tells each what concerns them, and nothing else [TIME2-5]', async () => {
    const api = shared;
    const [dana, amira, vik, omar] = await Promise.all(
      ['dana', 'amira', 'vik', 'omar'].map((name) => follow(api, name)),
    );
    const first = await api.ask({ requester: of('amira') });
    const second = await api.ask({ requester: of('vik') });
    await api.as('dana').post(`/requests/${first.operationId}/decisions`, answering(first, 'allow'));
    const allowed = ['request.allowed', 'grant.issued', 'decision.recorded'];
    const opening = ['call.proposed', 'request.opened'];
    expect(kindsOf(await omar!.until(7))).toEqual([...opening, ...opening, ...allowed]);
    expect(kindsOf(await dana!.until(7))).toEqual([...opening, ...opening, ...allowed]);
    expect(kindsOf(await amira!.until(5))).toEqual([...opening, ...allowed]);
    expect(kindsOf(await vik!.until(2))).toEqual(opening);
    expect(new Set(amira!.changes.map(({ operationId }) => operationId))).toEqual(new Set([first.operationId]));
    expect(vik!.changes[0]?.operationId).toBe(second.operationId);
    expect(vik!.text()).not.toContain(first.operationId);
  });

  it('goes on after the last event that a reader saw', async () => {
    const api = shared;
    const before = await follow(api, 'dana');
    await api.ask({ requester: of('u1') });
    await before.until(2);
    before.close();
    await api.ask({ requester: of('u2') });
    const seen = before.changes[0]!.seq;
    const after = await follow(api, 'dana', { 'last-event-id': String(seen) });
    await after.until(3);
    await api.ask({ requester: of('u3') });
    const changes = await after.until(5);
    expect(changes.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5].map((more) => seen + more));
    expect(after.retryMs).toEqual([1_000]);
  });

  it('tells a reader who is too far behind, or ahead of this ledger, to read everything again', async () => {
    const api = await opened();
    const reader = await follow(api, 'dana', { 'last-event-id': '999' });
    expect(await reader.until(1)).toEqual([{ seq: 1, kind: 'reset', operationId: null }]);
    const other = await opened();
    await other.fresh.change(
      `insert into audit values (20000, 1, 'x', null, '{}', 'a', 'b')`,
      `update audit_heads set seq = 20000`,
    );
    const late = await follow(other, 'dana', { 'last-event-id': '1' });
    expect(await late.until(1)).toEqual([{ seq: 20_000, kind: 'reset', operationId: null }]);
  });

  it('refuses a position that is none', async () => {
    const api = shared;
    const answer = await api.as('dana').get('/events', { 'last-event-id': '1; drop' });
    expect([answer.status, answer.body]).toMatchObject([400, { errors: [{ in: 'header', field: '/Last-Event-ID' }] }]);
  });

  it('shows now and then that it lives, and how far it has come', async () => {
    const api = await opened({ times: { heartbeatMs: 50, stallMs: 30_000, lifetimeMs: 60_000 } });
    const vik = await follow(api, 'vik');
    await api.ask({ requester: of('amira') });
    await eventually(() => {
      expect(vik.lastId()).toBe('3');
    });
    expect(vik.comments[0]).toBe('here');
    expect(vik.changes).toEqual([]);
  });

  it('ends when its time is over, and when the feed closes', async () => {
    const api = await opened({ times: { heartbeatMs: 15_000, stallMs: 30_000, lifetimeMs: 300 } });
    const reader = await follow(api, 'dana');
    await reader.ended;
    const other = await opened();
    const last = await follow(other, 'dana');
    await other.close();
    await last.ended;
  });

  it('ends when a policy is applied, so that who left reads no more [FORGE-12]', async () => {
    const api = await opened();
    const eli = await follow(api, 'eli');
    const { eli: _eli, ...people } = CONSOLE_POLICY.people;
    await api.apply({ ...CONSOLE_POLICY, people });
    await eli.ended;
    const again = await follow(api, 'eli', { 'last-event-id': eli.lastId() });
    expect(again.status).toBe(401);
  });

  it('waits for a ledger that is away, and misses nothing', async () => {
    const api = shared;
    const dana = await follow(api, 'dana');
    await api.ask({ requester: of('u1') });
    api.store.down = true;
    await eventually(() => {
      expect(api.store.refused).toBeGreaterThan(2);
    });
    api.store.down = false;
    await api.ask({ requester: of('u2') });
    expect(kindsOf(await dana.until(4))).toEqual([
      'call.proposed',
      'request.opened',
      'call.proposed',
      'request.opened',
    ]);
  });

  it('holds nothing open for HEAD, and at most 20 streams for a person', async () => {
    const api = shared;
    for (let index = 0; index < 25; index += 1) {
      const head = await api.send('HEAD', '/events', { headers: { authorization: 'dana' } });
      expect(head.status).toBe(200);
    }
    const readers = await Promise.all(Array.from({ length: 20 }, () => follow(api, 'dana')));
    const more = await api.as('dana').get('/events');
    expect([more.status, more.body]).toMatchObject([429, { code: 'TOO_MANY_STREAMS' }]);
    expect((await follow(api, 'eli')).status).toBe(200);
    readers[0]!.close();
    await eventually(async () => {
      expect((await follow(api, 'dana')).status).toBe(200);
    });
  });

  it('cuts off a reader who takes nothing, and keeps no queue for them', async () => {
    const api = await opened({ times: { heartbeatMs: 15_000, stallMs: 300, lifetimeMs: 60_000 } });
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    closing.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.pause();
    // Long kinds, so that they fill what the system buffers for a connection.
    await api.fresh.change(
      `insert into audit with recursive numbers (seq) as (select 2 union all select seq + 1 from numbers where seq < 401)
       select seq, 1, printf('%.40000c', 'x'), null, '{}', 'a', 'h' || seq from numbers`,
      `update audit_heads set seq = 401`,
    );
    socket.write('GET /api/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: omar\r\nlast-event-id: 1\r\n\r\n');
    await eventually(() => {
      expect(api.holds(socket.localPort)).toBe(true);
    });
    await eventually(() => {
      expect(api.holds(socket.localPort)).toBe(false);
    });
    expect(socket.destroyed).toBe(false);
  });
});

it('asks once for each person and change, however many streams, and eight at once at most', async () => {
  let asked = 0;
  let running = 0;
  let most = 0;
  const concerned = createConcerned({
    concerns: async (_, operationId) => {
      asked += 1;
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return operationId === 'op_mine';
    },
  });
  const viewer = (name: string): Viewer => ({ name, groups: [], isOperator: false, sessionId: name, signedInAtMs: 0 });
  const change = (seq: number, operationId: string | null) => ({ seq, kind: 'k', operationId });
  // 200 streams: 50 people with four each, and three changes of two operations.
  const streams = Array.from({ length: 200 }, (_, index) => viewer(`p${index % 50}`));
  const changes = [change(1, 'op_mine'), change(2, 'op_other'), change(3, 'op_mine'), change(4, null)];
  const answers = await Promise.all(streams.map((each) => Promise.all(changes.map((one) => concerned(each, one, 4)))));
  expect(new Set(answers.map(String))).toEqual(new Set(['true,false,true,false']));
  expect([asked, most]).toEqual([100, 8]);
  await concerned(viewer('p0'), change(5, 'op_mine'), 5);
  expect(asked).toBe(101);
  expect(await concerned({ ...viewer('omar'), isOperator: true }, change(6, null), 6)).toBe(true);
});

it('serves 200 streams of 50 people with one question for each person and operation', async () => {
  const api = await opened();
  const live = openLiveFeed({ store: api.store, log: api.log });
  closing.push(() => live.close());
  let asked = 0;
  const reviews = {
    concerns: async () => {
      asked += 1;
      return true;
    },
  };
  const app = new Hono<Env>();
  app.use('*', async (c, next) => {
    const name = c.req.header('authorization') ?? '';
    c.set('viewer', { name, groups: [], isOperator: false, sessionId: name, signedInAtMs: 0 });
    await next();
  });
  app.route('/live', createLive({ reviews, live, log: api.log }));
  const readers = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const response = await app.request('/live', { headers: { authorization: `p${index % 50}` } });
      return response.body!.getReader();
    }),
  );
  const texts = () => Promise.all(readers.map(async (reader) => new TextDecoder().decode((await reader.read()).value)));
  expect(new Set(await texts())).toEqual(new Set(['retry: 1000\nid: 1\n\n']));
  const { operationId } = await api.ask();
  expect(new Set((await texts()).map((text) => text.split(operationId).length))).toEqual(new Set([3]));
  expect(asked).toBe(50);
  await Promise.all(readers.map((reader) => reader.cancel()));
});

it('asks again where a question failed', async () => {
  let asked = 0;
  const concerned = createConcerned({
    concerns: async () => {
      asked += 1;
      if (asked === 1) throw new Error('away');
      return true;
    },
  });
  const viewer: Viewer = { name: 'p', groups: [], isOperator: false, sessionId: 'p', signedInAtMs: 0 };
  const change = { seq: 1, kind: 'k', operationId: 'op_1' };
  await expect(concerned(viewer, change, 1)).rejects.toThrow('away');
  expect(await concerned(viewer, change, 1)).toBe(true);
});

it('lets a task in where one has failed', async () => {
  const limited = atMost(1);
  const failing = limited(() => Promise.reject(new Error('no')));
  const next = limited(() => Promise.resolve('yes'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('yes');
});

it('is the same stream for the pages, at the path where it is mounted', async () => {
  const api = await opened();
  const live = openLiveFeed({ store: api.store, log: api.log });
  closing.push(() => live.close());
  const app = new Hono<Env>();
  app.use('*', async (c, next) => {
    c.set('viewer', { name: 'dana', groups: ['dba'], isOperator: false, sessionId: 's', signedInAtMs: 0 });
    await next();
  });
  app.route('/live', createLive({ reviews: api.reviews, live, log: api.log }));
  const response = await app.request('/live');
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const reader = response.body!.getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await text()).toBe('retry: 1000\nid: 1\n\n');
  const { operationId } = await api.ask();
  expect(await text()).toBe(
    `id: 2\ndata: {"seq":2,"kind":"call.proposed","operationId":"${operationId}"}\n\n` +
      `id: 3\ndata: {"seq":3,"kind":"request.opened","operationId":"${operationId}"}\n\n`,
  );
  await reader.cancel();
  const refused = await app.request('/live', { headers: { 'last-event-id': 'x' } });
  expect(refused.status).toBe(400);
});
