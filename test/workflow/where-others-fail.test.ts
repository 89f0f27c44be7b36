import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import { operationId } from '../../core/digest';
import { migrate, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness, PATIENT } from '../support/harness';
import { outcomes, sendUpdate, statuses } from '../support/messages';

/** What agent frameworks of today get wrong. (Killed after the effect: test/kill.) */
describe('where other frameworks fail', () => {
  const clock = testClock();
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ clock: clock.nowMs });
  }, 30_000);
  afterAll(() => harness.close());

  const begin = async (call = migrate(), requester = someone()) => {
    const turn = await harness.start([call], { requester });
    const [request] = await harness.requests(turn);
    return { turn, request: request! };
  };
  const received = (key: unknown) =>
    harness.tools.received.filter((call) => call.arguments['id'] === key || call.arguments['sql'] === key);

  test('two equal decisions at the same instant, 50 times: one effect, the same answer to both [EXEC-02]', async () => {
    const play = async (id: number) => {
      const { turn, request } = await begin(remove('c1', { id }));
      const decision = decisionOn(request, 'allow');
      const answers = await Promise.all([1, 2].map(() => harness.holdpoint.decide(turn.workflowId, decision, PATIENT)));
      expect(answers[0]).toMatchObject({ code: 'accepted', decidedBy: ['r1'] });
      expect(answers[1]).toEqual({ ...answers[0], detail: answers[1]!.detail });
      await turn.results();
      expect(received(id)).toHaveLength(1);
    };
    for (let first = 1_000; first < 1_050; first += 10)
      await Promise.all(Array.from({ length: 10 }, (_, index) => play(first + index)));
  }, 60_000);

  test('allow against deny at the same instant: one winner, and the loser is told who won [EXEC-02]', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { turn, request } = await begin(remove('c1', { id: 2_000 + round }));
      const [allow, deny] = await Promise.all([
        harness.decide(request, 'allow', { reviewer: 'r1' }),
        harness.decide(request, 'deny', { reviewer: 'r2' }),
      ]);
      expect([allow.code, deny.code].sort()).toEqual(['accepted', 'conflict']);
      const allowed = allow.code === 'accepted';
      expect((allowed ? deny : allow).decidedBy).toEqual([allowed ? 'r1' : 'r2']);
      expect(await outcomes(turn)).toEqual([['c1', allowed ? 'executed' : 'denied']]);
      expect(received(2_000 + round)).toHaveLength(allowed ? 1 : 0);
    }
  }, 60_000);

  test('a decision for an id that does not exist yet is refused and not kept', async () => {
    const requester = someone();
    const [turnId, other] = [randomUUID(), await begin(remove('c1', { id: 3 }))];
    const coming = operationId({ requesterSubject: requester.subject, turnId, callId: 'c1' });
    const early = { ...decisionOn(other.request, 'allow'), operationId: coming };
    expect((await sendUpdate(harness, other.turn, early)).code).toBe('unknownRequest');
    const turn = await harness.start([remove('c1', { id: 3 })], { requester, id: turnId });
    const [request] = await harness.requests(turn);
    expect(request!.operationId).toBe(coming);
    expect((await harness.ledger.advanceRequest(coming))?.status).toBe('pending');
    expect(received(3)).toHaveLength(0);
  });

  test('a wrong id while another call waits leaves that one unchanged', async () => {
    const { turn, request } = await begin(remove('c1', { id: 4 }));
    const wrong = decisionOn({ ...request, operationId: `op_${'a'.repeat(40)}` }, 'allow');
    expect((await sendUpdate(harness, turn, wrong)).code).toBe('unknownRequest');
    expect(await harness.requests(turn)).toEqual([request]);
    expect(received(4)).toHaveLength(0);
  });

  test('deny, the end of the turn, then allow: a conflict, no effect', async () => {
    const { turn, request } = await begin(remove('c1', { id: 5 }));
    await harness.decide(request, 'deny');
    expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
    expect(await harness.decide(request, 'allow', { reviewer: 'r2' })).toMatchObject({
      code: 'conflict',
      decidedBy: ['r1'],
    });
    expect(received(5)).toHaveLength(0);
  });

  test('one byte of the stored arguments changed: not sent, recorded, back to review', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'one byte' }));
    await harness.store.write(({ db }) =>
      sql`update requests set card = replace(card, 'one byte', 'one bite') where operation_id = ${request.operationId}`.execute(
        db,
      ),
    );
    await harness.decide(request, 'allow');
    await eventually(async () => expect((await harness.requests(turn))[0]).toMatchObject({ revision: 2 }));
    const stale = (await harness.facts(request.operationId)).find((fact) => fact.kind === 'request.stale');
    expect(stale?.body).toMatchObject({ cause: 'argumentsChanged', revision: 1 });
    expect([...received('one byte'), ...received('one bite')]).toHaveLength(0);
  });

  test('c2 denied, c1 allowed an hour later, c3 left open: each result once', async () => {
    await harness.applyPolicy({ deadline: '{ after: 90m, then: expire }' });
    const calls = [remove('c1', { id: 71 }), remove('c2', { id: 72 }), remove('c3', { id: 73 })];
    const turn = await harness.start(calls, { requester: someone() });
    const [c1, c2] = await harness.requests(turn, 3);
    await harness.decide(c2!, 'deny');
    clock.advance(60 * MINUTE_MS);
    await harness.decide(c1!, 'allow');
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'denied', 'pending']));
    clock.advance(30 * MINUTE_MS);
    await turn.withdraw();
    expect(await outcomes(turn)).toEqual([
      ['c1', 'executed'],
      ['c2', 'denied'],
      ['c3', 'expired'],
    ]);
    expect([received(71), received(72), received(73)].map((calls) => calls.length)).toEqual([1, 0, 0]);
    const events: string[] = [];
    for await (const event of turn.events()) if (event.type === 'ended') events.push(event.callId);
    expect(events.sort()).toEqual(['c1', 'c2', 'c3']);
    await harness.applyPolicy();
  });

  test('a newer worker and a new message while three wait: all still decidable', async () => {
    const calls = [remove('c1', { id: 81 }), remove('c2', { id: 82 }), remove('c3', { id: 83 })];
    const requester = someone();
    const own = await startHarness({ worker: false });
    try {
      const older = await own.startWorker();
      const turn = await own.start(calls, { requester });
      const requests = await own.requests(turn, 3);
      await older.stop();
      await own.startWorker();
      const next = await own.start([remove('c1', { id: 84 })], { requester });
      await own.requests(next);
      for (const request of requests) expect((await own.decide(request, 'allow')).code).toBe('accepted');
      expect(await outcomes(turn)).toEqual([
        ['c1', 'executed'],
        ['c2', 'executed'],
        ['c3', 'executed'],
      ]);
      expect(own.tools.runs).toHaveLength(3);
    } finally {
      await own.close();
    }
  });
});
