import { read, migrate, remove, someone } from '../support/calls';
import { testClock, MINUTE_MS } from '../support/clock';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness, PATIENT } from '../support/harness';
import { outcomes, sendUpdate, statuses, withdrawOpen } from '../support/messages';

describe('several calls in one turn', () => {
  const clock = testClock();
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ clock: clock.nowMs });
  }, 30_000);
  afterAll(() => harness.close());
  afterEach(() => withdrawOpen(harness));

  const begin = async (...calls: Parameters<Harness['start']>[0][number][]) =>
    harness.start(calls, { requester: someone() });

  test('decisions are matched by operation id, in any order of arrival [TURN-01]', async () => {
    const turn = await begin(remove('c1', { id: 71 }), migrate('c2', { sql: 'ADD COLUMN turn01' }));
    const [c1, c2] = await harness.requests(turn, 2);
    expect((await harness.decide(c2!, 'allow')).code).toBe('accepted');
    expect((await harness.decide(c1!, 'deny')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([
      ['c1', 'denied'],
      ['c2', 'executed'],
    ]);
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 71)).toHaveLength(0);
    expect(harness.tools.runs.filter((run) => run.arguments['sql'] === 'ADD COLUMN turn01')).toHaveLength(1);
  });

  test('an allowed, a denied and an ungated call give three results in call order [TURN-02]', async () => {
    const turn = await begin(remove('c1', { id: 72 }), migrate('c2'), read('c3'));
    const [c1, c2] = await harness.requests(turn, 2);
    await harness.decide(c2!, 'deny');
    await harness.decide(c1!, 'allow');
    expect(await outcomes(turn)).toEqual([
      ['c1', 'executed'],
      ['c2', 'denied'],
      ['c3', 'executed'],
    ]);
  });

  test('the start answers with every open request, each with its own operation id [TURN-03]', async () => {
    const requester = someone();
    const calls = [remove('c1'), migrate('c2'), remove('c3', { id: 8 })];
    const turn = await harness.start(calls, { requester });
    const opened = await turn.snapshot();
    expect(opened.requiredActions.map((request) => request.callId)).toEqual(['c1', 'c2', 'c3']);
    expect(new Set(opened.requiredActions.map((request) => request.operationId)).size).toBe(3);
    expect(opened.calls.map((call) => call.operationId)).toEqual(
      opened.requiredActions.map((request) => request.operationId),
    );
  });

  test('two calls of one tool keep their arguments apart [TURN-04]', async () => {
    const turn = await begin(migrate('c1', { sql: 'ADD a' }), migrate('c2', { sql: 'ADD b' }));
    const [c1, c2] = await harness.requests(turn, 2);
    expect((await harness.decide(c1!, 'allow')).code).toBe('accepted');
    expect((await harness.decide(c2!, 'allow')).code).toBe('accepted');
    await turn.results();
    const sent = harness.tools.runsOf('apply_migration').map((run) => [run.arguments['sql'], run.operationId]);
    expect(sent.filter(([sql]) => sql === 'ADD a')).toEqual([['ADD a', c1!.operationId]]);
    expect(sent.filter(([sql]) => sql === 'ADD b')).toEqual([['ADD b', c2!.operationId]]);
  });

  test('two calls that are identical but for their id are two operations [TURN-05]', async () => {
    const turn = await begin(remove('c1', { id: 75 }), remove('c2', { id: 75 }));
    const [c1, c2] = await harness.requests(turn, 2);
    expect(c1!.operationId).not.toBe(c2!.operationId);
    await harness.decide(c1!, 'allow');
    await harness.decide(c2!, 'allow');
    await turn.results();
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 75)).toHaveLength(2);
  });

  test('a decided call needs no action any more and keeps its decision [TURN-06]', async () => {
    const turn = await begin(remove('c1', { id: 76 }), migrate('c2'));
    const [c1, c2] = await harness.requests(turn, 2);
    await harness.decide(c1!, 'allow');
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'pending']));
    for (const _again of [1, 2]) {
      const { requiredActions, calls } = await turn.snapshot();
      expect(requiredActions.map((request) => request.operationId)).toEqual([c2!.operationId]);
      expect(calls[0]?.state).toMatchObject({ end: { outcome: 'executed', approval: { deciders: ['r1'] } } });
    }
    expect(await revisions(harness, c1!.operationId)).toEqual([1]);
  });

  test('the same decision delivered five more times gets the first answer, and one run [TURN-08]', async () => {
    const turn = await begin(remove('c1', { id: 78 }), remove('c2', { id: 781 }), remove('c3', { id: 782 }));
    const [c1] = await harness.requests(turn, 3);
    const decision = decisionOn(c1!, 'allow');
    const verdicts = [];
    for (let time = 0; time < 6; time += 1)
      verdicts.push(await harness.holdpoint.decide(turn.workflowId, decision, PATIENT));
    expect(verdicts.map((verdict) => verdict.code)).toEqual(Array(6).fill('accepted'));
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'pending', 'pending']));
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 78)).toHaveLength(1);
    const rows = await harness.store.db
      .selectFrom('decisions')
      .select('answer')
      .where('operation_id', '=', c1!.operationId)
      .execute();
    expect(rows).toEqual([{ answer: 'allow' }]);
  });

  test('decisions for a pending, an ungated and an unknown call: one recorded, two typed refusals [TURN-10]', async () => {
    const turn = await begin(migrate('c1'), read('c2'), remove('c3', { id: 710 }));
    const [c1, c3] = await harness.requests(turn, 2);
    await eventually(async () => expect(await statuses(turn)).toEqual(['pending', 'executed', 'pending']));
    const ungated = (await turn.snapshot()).calls[1]!.operationId;
    const codes = [];
    for (const operationId of [c1!.operationId, ungated, `op_${'0'.repeat(40)}`]) {
      codes.push((await harness.decide({ ...c1!, operationId }, 'allow')).code);
    }
    expect(codes).toEqual(['accepted', 'unknownRequest', 'unknownRequest']);
    expect((await turn.snapshot()).requiredActions.map((request) => request.operationId)).toEqual([c3!.operationId]);
  });

  test('an allowed call does not wait for its sibling [TURN-11]', async () => {
    const turn = await begin(remove('c1', { id: 711 }), migrate('c2'));
    const [c1, c2] = await harness.requests(turn, 2);
    clock.advance(MINUTE_MS);
    await harness.decide(c1!, 'allow');
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'pending']));
    clock.advance(24 * MINUTE_MS);
    expect((await harness.decide(c2!, 'allow')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([
      ['c1', 'executed'],
      ['c2', 'executed'],
    ]);
  });

  test('an allow without an operation id is refused and decides nothing [TURN-12]', async () => {
    const turn = await begin(remove('c1'), migrate('c2'));
    const [c1] = await harness.requests(turn, 2);
    const { operationId: _left, ...nameless } = decisionOn(c1!, 'allow');
    expect(await sendUpdate(harness, turn, nameless)).toMatchObject({ code: 'malformed', state: null });
    expect(await statuses(turn)).toEqual(['pending', 'pending']);
  });

  test('one expired, one denied and one allowed call give three results [GATE-7]', async () => {
    const turn = await begin(remove('c1', { id: 770 }), remove('c2', { id: 771 }), migrate('c3'));
    const [c1, c2, c3] = await harness.requests(turn, 3);
    await harness.decide(c2!, 'deny');
    await harness.decide(c3!, 'allow');
    clock.advance(30 * MINUTE_MS);
    expect((await harness.decide(c1!, 'allow')).code).toBe('late');
    expect(await outcomes(turn)).toEqual([
      ['c1', 'expired'],
      ['c2', 'denied'],
      ['c3', 'executed'],
    ]);
  });

  test('the second of two calls is decided first: each decision lands on its own call [SWAP-3]', async () => {
    const turn = await begin(remove('c1', { id: 100 }), remove('c2', { id: 9000 }));
    const [a, b] = await harness.requests(turn, 2);
    await harness.decide(b!, 'deny');
    await harness.decide(a!, 'allow');
    expect(await outcomes(turn)).toEqual([
      ['c1', 'executed'],
      ['c2', 'denied'],
    ]);
    expect(harness.tools.runs.map((run) => run.arguments['id']).filter((id) => id === 100 || id === 9000)).toEqual([
      100,
    ]);
  });

  test('one allow for three identical calls under once frees one [SWAP-12]', async () => {
    const same = { id: 120 };
    const turn = await begin(remove('c1', same), remove('c2', same), remove('c3', same));
    const [c1] = await harness.requests(turn, 3);
    await harness.decide(c1!, 'allow');
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'pending', 'pending']));
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 120)).toHaveLength(1);
  });
});

async function revisions(harness: Harness, operationId: string): Promise<readonly number[]> {
  const rows = await harness.store.db
    .selectFrom('requests')
    .select('revision')
    .where('operation_id', '=', operationId)
    .execute();
  return rows.map((row) => row.revision);
}
