import { randomBytes } from 'node:crypto';
import { HTTP, type CloudEvent } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { startOutboxRelay, type OutboxRelay, type OutboxRelayOptions } from '../../worker/outbox-relay';
import { checkEndpoint, type WebhookEndpoint } from '../../worker/webhook';
import { eventually } from '../support/eventually';
import { freshStore, type FreshStore } from '../support/stores';
import {
  failing,
  lost,
  ok,
  silent,
  startReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../support/webhook-receiver';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const oldSecret = `whsec_${randomBytes(24).toString('base64')}`;

describe('the outbox relay', () => {
  let fresh: FreshStore;
  let receiver: WebhookReceiver;
  const receivers: WebhookReceiver[] = [];
  const relays: OutboxRelay[] = [];

  beforeEach(async () => {
    fresh = await freshStore('sqlite');
    receiver = await another();
  });
  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.stop()));
    await Promise.all(receivers.splice(0).map((open) => open.close()));
    await fresh.remove();
  });

  async function another(): Promise<WebhookReceiver> {
    const started = await startReceiver();
    receivers.push(started);
    return started;
  }
  const endpoint = (more: Partial<WebhookEndpoint> = {}): WebhookEndpoint => ({
    id: 'ops',
    url: receiver.url,
    secrets: [secret],
    ...more,
  });
  /** A relay that has taken notice of its endpoints, and so sends what is emitted from now on. */
  async function relay(endpoints = [endpoint()], settings: Partial<OutboxRelayOptions> = {}): Promise<OutboxRelay> {
    const started = startOutboxRelay({
      store: fresh.store,
      log: fresh.log,
      endpoints,
      pollMs: 10,
      retryMs: 10,
      ...settings,
    });
    relays.push(started);
    await eventually(async () => {
      const known = await fresh.store.db.selectFrom('endpoints').select('endpoint').execute();
      expect(known.length).toBeGreaterThanOrEqual(endpoints.length);
    });
    return started;
  }
  const emit = (...ids: string[]) =>
    fresh.store.write(async (tx) => {
      for (const id of ids) tx.emit({ id, type: `dev.holdpoint.${id}`, subject: null, data: { id } });
    });
  const idsOf = ({ received }: WebhookReceiver) => received.map(({ headers }) => headers['webhook-id']);
  const open = async () =>
    (await fresh.store.db.selectFrom('deliveries').select('position').where('delivered_at', 'is', null).execute())
      .length;
  const verify = ({ headers, body }: ReceivedWebhook, with_ = secret) =>
    new Webhook(with_).verify(body, headers as Record<string, string>);

  it('sends a CloudEvent in structured mode, signed after Standard Webhooks', async () => {
    await relay();
    await emit('a');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [message] = receiver.received;
    expect(message!.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': 'a',
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(verify(message!)).toMatchObject({ specversion: '1.0', id: 'a', type: 'dev.holdpoint.a', data: { id: 'a' } });
    const event = HTTP.toEvent({
      headers: message!.headers,
      body: message!.body,
    }) as CloudEvent<unknown>;
    expect([event.id, event.type, event.validate()]).toEqual(['a', 'dev.holdpoint.a', true]);
    await eventually(async () => expect(await open()).toBe(0));
  });

  it('[WEB-8] sends again with the same id and body after a lost answer, and stops after a 2xx', async () => {
    receiver.answer(lost, failing(500), ok);
    await relay();
    await emit('a');
    await eventually(async () => expect([idsOf(receiver), await open()]).toEqual([['a', 'a', 'a'], 0]));
    const [first, second, third] = receiver.received;
    expect([second!.body, third!.body]).toEqual([first!.body, first!.body]);
    expect(receiver.received.map((message) => verify(message))).toHaveLength(3);
  });

  it('[WEB-8] the signature covers the raw body, the id and the time', async () => {
    await relay();
    await emit('a');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const { headers, body } = receiver.received[0]!;
    expect(() => verify({ headers, body })).not.toThrow();
    const otherTime = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) };
    expect(() => verify({ headers, body: body.replace('"id":"a"', '"id":"b"') })).toThrow(
      'No matching signature found',
    );
    expect(() => verify({ headers, body: `${body} ` })).toThrow('No matching signature found');
    expect(() => verify({ headers: { ...headers, 'webhook-id': 'b' }, body })).toThrow('No matching signature found');
    expect(() => verify({ headers: otherTime, body })).toThrow('No matching signature found');
    expect(() => verify({ headers, body }, oldSecret)).toThrow('No matching signature found');
  });

  it('signs with each secret while one is replaced', async () => {
    await relay([endpoint({ secrets: [secret, oldSecret] })]);
    await emit('a');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [message] = receiver.received;
    expect(() => [verify(message!), verify(message!, oldSecret)]).not.toThrow();
  });

  it('sends each endpoint the types that it wants', async () => {
    const [one, two] = [await another(), await another()];
    await relay([
      endpoint(),
      endpoint({ id: 'one', url: one.url, types: ['dev.holdpoint.b'] }),
      endpoint({ id: 'two', url: two.url, types: ['dev.holdpoint.c', 'dev.*'] }),
    ]);
    await emit('a', 'b');
    await eventually(() => expect([receiver, one, two].map(({ received }) => received.length)).toEqual([2, 1, 2]));
    expect(idsOf(one)).toEqual(['b']);
  });

  it('an endpoint that never answers does not delay another', async () => {
    const healthy = await another();
    receiver.answer(silent);
    await relay([endpoint(), endpoint({ id: 'healthy', url: healthy.url })], { timeoutMs: 15_000, drainMs: 0 });
    await emit(...Array.from({ length: 30 }, (_, n) => `e${n}`));
    await eventually(() => expect(healthy.received).toHaveLength(30), 5_000);
    expect(receiver.received.length).toBeLessThanOrEqual(8);
    receiver.answer(ok);
    await receiver.close();
  });

  it('an answer that does not come in time is a failure', async () => {
    receiver.answer(silent, ok);
    await relay([endpoint()], { timeoutMs: 500 });
    await emit('a');
    await eventually(async () => expect([idsOf(receiver), await open()]).toEqual([['a', 'a'], 0]));
    expect(fresh.log.entries).toContainEqual({
      level: 'warn',
      fields: {
        endpoint: 'ops',
        eventId: 'a',
        attempt: 1,
        detail: 'no answer within 500 ms',
        retryInMs: expect.any(Number),
      },
      event: 'event not delivered',
    });
  });

  it('does not follow a redirect', async () => {
    const elsewhere = await another();
    receiver.answer(failing(307, { location: elsewhere.url }), ok);
    await relay();
    await emit('a');
    await eventually(async () => expect([idsOf(receiver), await open()]).toEqual([['a', 'a'], 0]));
    expect(elsewhere.received).toEqual([]);
  });

  it('tries a dead endpoint with one event at a time, and sends all when it is back', async () => {
    receiver.answer(failing(503));
    await relay([endpoint()], { retryMs: 40 });
    await emit(...Array.from({ length: 40 }, (_, n) => `e${n}`));
    await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(10));
    // The first eight were under way together; each look after that took one.
    expect(receiver.received.length).toBeLessThan(20);
    receiver.answer(ok);
    await eventually(async () => expect(await open()).toBe(0));
    expect(new Set(idsOf(receiver)).size).toBe(40);
  });

  it('waits as long as the receiver asks', async () => {
    receiver.answer(failing(429, { 'retry-after': '1' }), ok);
    await relay();
    await emit('a');
    const startedMs = performance.now();
    await eventually(() => expect(receiver.received).toHaveLength(2));
    expect(performance.now() - startedMs).toBeGreaterThan(950);
  });

  it('gives an event up when it is too old, and says so', async () => {
    receiver.answer(failing(400));
    await relay([endpoint()], { giveUpMs: 0 });
    await emit('a');
    await eventually(async () => {
      const rows = await fresh.store.db.selectFrom('deliveries').select(['last_error', 'given_up_at']).execute();
      expect(rows).toEqual([{ last_error: 'HTTP 400', given_up_at: expect.any(Number) }]);
    });
    expect(fresh.log.entries.at(-1)).toMatchObject({ level: 'error', event: 'event given up' });
  });

  it('goes on with what was not delivered when another process relays', async () => {
    const { url } = receiver;
    await receiver.close();
    const first = await relay();
    await emit('a', 'b');
    await eventually(async () => expect(await open()).toBe(2));
    await first.stop();
    receiver = await another();
    expect(receiver.url).not.toBe(url);
    await relay();
    await eventually(() => expect(idsOf(receiver).sort()).toEqual(['a', 'b']));
  });

  it('two processes that relay one ledger send each event once', async () => {
    await Promise.all([relay(), relay([endpoint()], { store: await fresh.another() })]);
    await emit(...Array.from({ length: 100 }, (_, n) => `e${n}`));
    await eventually(async () => expect(await open()).toBe(0));
    await eventually(() => expect(receiver.received).toHaveLength(100));
    expect(new Set(idsOf(receiver)).size).toBe(100);
  });

  it('sends what is due before it stops, and nothing after that', async () => {
    const started = await relay([endpoint()], { pollMs: 60_000 });
    await emit(...Array.from({ length: 20 }, (_, n) => `e${n}`));
    await started.stop();
    expect(receiver.received).toHaveLength(20);
    await emit('late');
    expect(await fresh.store.db.selectFrom('deliveries').select('position').execute()).toHaveLength(20);
  });

  it('stops in time although an endpoint does not answer', async () => {
    receiver.answer(silent);
    const started = await relay([endpoint()], { timeoutMs: 200, drainMs: 0 });
    await emit('a');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const startedMs = performance.now();
    await started.stop();
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });

  it('survives a ledger that fails for a while', async () => {
    await relay();
    await fresh.tamper('alter table deliveries rename to away');
    await emit('a');
    await eventually(() => expect(fresh.log.entries.some(({ event }) => event === 'outbox not read')).toBe(true));
    await fresh.tamper('alter table away rename to deliveries');
    await eventually(() => expect(idsOf(receiver)).toEqual(['a']));
  });
});

describe('the settings of a webhook', () => {
  const good: WebhookEndpoint = { id: 'ops', url: 'https://example.com/hook', secrets: [secret] };

  it('are taken when they keep the rules', () => {
    expect(checkEndpoint(good)).toMatchObject({ id: 'ops', url: new URL('https://example.com/hook') });
  });

  it.each([
    ['an id with a blank', { id: 'o ps' }, /webhook id "o ps" is not/],
    ['an address that is none', { url: 'example.com' }, /webhook ops needs an http or https address/],
    ['an address of another kind', { url: 'file:///etc/passwd' }, /webhook ops needs an http or https address/],
    ['an address with a password', { url: 'https://u:p@example.com/' }, /without user and password/],
    ['no secret', { secrets: [] }, /webhook ops needs secrets/],
    ['a secret without its prefix', { secrets: [secret.slice(6)] }, /webhook ops needs secrets/],
    [
      'a secret that is too short',
      { secrets: [`whsec_${randomBytes(23).toString('base64')}`] },
      /webhook ops needs secrets/,
    ],
    ['a secret that is not base64', { secrets: [`whsec_${'?'.repeat(40)}`] }, /webhook ops needs secrets/],
  ])('%s is refused, and no secret is printed', (_name, change, message) => {
    expect(() => checkEndpoint({ ...good, ...change })).toThrow(message);
    expect(() => checkEndpoint({ ...good, ...change })).not.toThrow(secret.slice(6));
  });

  it('two with one id are refused', async () => {
    const fresh = await freshStore('sqlite');
    expect(() => startOutboxRelay({ store: fresh.store, log: fresh.log, endpoints: [good, good] })).toThrow('same id');
    await fresh.remove();
  });
});
