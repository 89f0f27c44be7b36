import { migrate, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { nudge, outcomes, sendSignal, sendUpdate, statuses } from '../support/messages';
import { recordedLog } from '../support/recorded-log';
import { startWebhookReceiver } from '../support/switched-receiver';
import { startOutboxRelay } from '../../worker/outbox-relay';

describe("by the ledger's clock", () => {
  const clock = testClock();
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ clock: clock.nowMs });
  }, 30_000);
  afterAll(() => harness.close());
  afterEach(async () => {
    harness.tools.setVersion(7);
    await harness.applyPolicy();
  });

  const begin = async (call = migrate()) => {
    const turn = await harness.start([call], { requester: someone() });
    const [request] = await harness.requests(turn);
    return { turn, request: request! };
  };
  const received = (key: unknown) =>
    harness.tools.received.filter((call) => call.arguments['id'] === key || call.arguments['sql'] === key);
  const endings = async (operationId: string) =>
    (await harness.notices(operationId)).map((id) => id.slice(operationId.length + 1));

  test('nobody answers for 30 minutes: expired, a state of its own, not executed [TIME-01] [TIME2-1]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 1 }));
    clock.advance(30 * MINUTE_MS - 1_000);
    await nudge(harness, turn);
    expect(await statuses(turn)).toEqual(['pending']);
    clock.advance(1_000);
    await nudge(harness, turn);
    const [result] = await turn.results();
    expect(result!.end).toEqual({ outcome: 'expired', detail: 'the deadline passed' });
    expect(result!.textForModel).toMatch(/^EXPIRED: not executed\. .*silence is no consent/);
    expect(await endings(request.operationId)).toContain('1:expired');
    expect((await harness.facts(request.operationId)).map((fact) => fact.kind)).toContain('request.expired');
    expect(received(1)).toHaveLength(0);
  });

  test('a lead decides from the escalation on; the deadline stays [TIME-03]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 3 }));
    clock.advance(5 * MINUTE_MS);
    expect((await harness.decide(request, 'allow', { reviewer: 'l1' })).code).toBe('notAReviewer');
    clock.advance(5 * MINUTE_MS);
    await nudge(harness, turn);
    await eventually(async () => expect(await endings(request.operationId)).toContain('1:escalated:1'));
    const [open] = await harness.requests(turn);
    expect(open).toMatchObject({ revision: 1, deadlineAtMs: request.deadlineAtMs });
    expect((await turn.snapshot()).events.map((event) => event.type)).toEqual([
      'proposed',
      'approvalRequired',
      'escalated',
    ]);
    clock.advance(2 * MINUTE_MS);
    expect((await harness.decide(request, 'allow', { reviewer: 'l1' })).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test("a lead's decision that arrives before the timer of a due escalation was heard counts [TIME-03]", async () => {
    const { turn, request } = await begin(remove('c1', { id: 31 }));
    clock.advance(12 * MINUTE_MS);
    expect((await harness.decide(request, 'allow', { reviewer: 'l1' })).code).toBe('accepted');
    expect(await endings(request.operationId)).toContain('1:escalated:1');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test("a second revision has times of its own; the first one's wake finds nothing due [TIME-06]", async () => {
    const { turn, request } = await begin();
    clock.advance(9 * MINUTE_MS);
    harness.tools.setVersion(8);
    await harness.decide(request, 'allow');
    const second = await eventually(async () => {
      const [open] = await harness.requests(turn);
      expect(open?.revision).toBe(2);
      return open!;
    });
    expect(second.deadlineAtMs - request.deadlineAtMs).toBeGreaterThanOrEqual(9 * MINUTE_MS);
    clock.advance(2 * MINUTE_MS);
    await nudge(harness, turn);
    expect((await harness.decide(second, 'allow', { reviewer: 'l1' })).code).toBe('notAReviewer');
    expect(await endings(request.operationId)).not.toContain('2:escalated:1');
    clock.advance(9 * MINUTE_MS);
    await nudge(harness, turn);
    await eventually(async () => expect(await endings(request.operationId)).toContain('2:escalated:1'));
  });

  test('keepWaiting reminds, and ends after 30 days, not executed [TIME-10]', async () => {
    await harness.applyPolicy({ deadline: '{ after: 30m, then: keepWaiting, remindEvery: 30m }' });
    const { turn, request } = await begin(remove('c1', { id: 10 }));
    for (const minutes of [10, 20, 30]) {
      clock.advance(minutes * MINUTE_MS);
      await nudge(harness, turn);
      await eventually(async () =>
        expect(await endings(request.operationId)).toHaveLength({ 10: 2, 20: 3, 30: 4 }[minutes] ?? 0),
      );
    }
    expect((await endings(request.operationId)).map((id) => id.split(':').slice(0, 2).join(':'))).toEqual([
      '1:opened',
      '1:escalated',
      '1:reminded',
      '1:reminded',
    ]);
    expect(await statuses(turn)).toEqual(['pending']);
    clock.advance(30 * 24 * 60 * MINUTE_MS);
    await nudge(harness, turn);
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
    expect(received(10)).toHaveLength(0);
  });
});

describe("by Temporal's timers", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ policy: { escalateAfter: '1s', deadline: '{ after: 2s, then: expire }' } });
  }, 30_000);
  afterAll(() => harness.close());
  afterEach(async () => {
    harness.store.down = false;
    await harness.applyPolicy();
  });

  const begin = async (call = migrate()) => {
    const turn = await harness.start([call], { requester: someone() });
    const [request] = await harness.requests(turn);
    return { turn, request: request! };
  };
  const rowOf = (operationId: string) =>
    harness.store.db
      .selectFrom('requests')
      .selectAll()
      .where('operation_id', '=', operationId)
      .executeTakeFirstOrThrow();

  test('a request escalates and closes within 2 s of being due [TIME-05]', async () => {
    const { turn, request } = await begin();
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
    const row = await rowOf(request.operationId);
    expect(row).toMatchObject({ state: 'expired', level: 1 });
    expect(row.closed_at! - row.deadline_at).toBeLessThan(2_000);
  });

  test('a receiver that is down delays no escalation and no expiry; notices come later with their ids [TIME-12]', async () => {
    const receiver = await startWebhookReceiver();
    const secrets = [`whsec_${Buffer.alloc(24, 1).toString('base64')}`];
    const relay = startOutboxRelay({
      store: harness.store,
      endpoints: [{ id: 'ops', url: receiver.url, secrets }],
      log: recordedLog(),
      pollMs: 20,
      retryMs: 20,
    });
    await receiver.stop();
    const { turn, request } = await begin();
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
    const row = await rowOf(request.operationId);
    expect(row.closed_at! - row.deadline_at).toBeLessThan(2_000);
    expect(receiver.ids).toHaveLength(0);
    await receiver.start();
    const told = await harness.notices(request.operationId);
    await eventually(() => expect(receiver.ids).toEqual(expect.arrayContaining([...told])));
    expect(told.map((id) => id.slice(request.operationId.length))).toEqual([
      ':1:opened',
      ':1:escalated:1',
      ':1:expired',
    ]);
    await relay.stop();
    await receiver.stop();
  });

  test('the ledger down at a decision: notRecorded; up again, the deadline still fires', async () => {
    const { turn, request } = await begin();
    harness.store.down = true;
    expect(await sendUpdate(harness, turn, decisionOn(request, 'allow'))).toMatchObject({ code: 'notRecorded' });
    await eventually(() => expect(Date.now()).toBeGreaterThan(request.deadlineAtMs));
    expect(await statuses(turn)).toEqual(['pending']);
    harness.store.down = false;
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
    expect(harness.tools.runs).toHaveLength(0);
  });

  test('a decision by signal while the ledger is down is kept and recorded once when it is up', async () => {
    await harness.applyPolicy({ deadline: '{ after: 30m, then: expire }' });
    const { turn, request } = await begin(remove('c1', { id: 77 }));
    harness.store.down = true;
    harness.store.refused = 0;
    await sendSignal(harness, turn, decisionOn(request, 'allow'));
    // Its three quick attempts, and then the patient ones.
    await eventually(() => expect(harness.store.refused).toBeGreaterThan(4));
    harness.store.down = false;
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    const decided = (await harness.facts(request.operationId)).filter((fact) => fact.kind === 'decision.recorded');
    expect(decided).toHaveLength(1);
  });
});
