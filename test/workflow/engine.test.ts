import { randomUUID } from 'node:crypto';
import { migrate, read, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { nudge, outcomes, sendSignal, sendUpdate, statuses } from '../support/messages';

const historyOf = async (harness: Harness, workflowId: string) =>
  (await harness.holdpoint.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];

describe('with a worker', () => {
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
  const runs = (id: number) => harness.tools.runs.filter((run) => run.arguments['id'] === id);

  test('a decision for a turn that completed, or was cancelled, is answered with the final state [ENG-05]', async () => {
    const done = await begin(remove('c1', { id: 5 }));
    await harness.decide(done.request, 'allow');
    await done.turn.results();
    expect(await harness.decide(done.request, 'allow', { reviewer: 'r2' })).toMatchObject({
      code: 'alreadyDecided',
      state: 'executed',
      decidedBy: ['r1'],
    });
    expect(await harness.decide(done.request, 'deny', { reviewer: 'r2' })).toMatchObject({
      code: 'conflict',
      state: 'executed',
    });
    const cancelled = await begin(remove('c1', { id: 51 }));
    await harness.holdpoint.client.workflow.getHandle(cancelled.turn.workflowId).cancel();
    expect(await outcomes(cancelled.turn)).toEqual([['c1', 'withdrawn']]);
    expect(await harness.decide(cancelled.request, 'allow')).toMatchObject({ code: 'conflict', state: 'withdrawn' });
    expect(runs(51)).toHaveLength(0);
  });

  test('a turn that was terminated from outside: its rows are closed, a decision gets its verdict, nothing runs [ENG-07]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 7 }));
    await harness.holdpoint.client.workflow.getHandle(turn.workflowId).terminate('by an operator');
    await expect(turn.results()).rejects.toMatchObject({ code: 'TURN_ENDED_EARLY' });
    await eventually(async () => {
      const row = await harness.store.db
        .selectFrom('requests')
        .select(['state', 'closed_reason'])
        .where('operation_id', '=', request.operationId)
        .executeTakeFirst();
      expect(row).toEqual({ state: 'withdrawn', closed_reason: 'its turn was ended from outside' });
    });
    expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'conflict', state: 'withdrawn' });
    expect(runs(7)).toHaveLength(0);
  });

  test('a turn is found by whole keywords only, also of an id with dashes and of a list [ENG-11]', async () => {
    const tag = randomUUID();
    const [one, other] = [`user-7-a-${tag}`, `user-7-b-${tag}`];
    await harness.applyPolicy({
      access: `  - { subjects: ['${one}', '${other}'], agents: ['*'], server: orders-db, tools: ['*'] }`,
    });
    const first = await begin(remove('c1', { id: 11 }), { subject: one, agent: 'bot', chain: [] });
    await begin(migrate(), { subject: other, agent: 'bot', chain: [] });
    const find = async (query: string) => {
      const found: string[] = [];
      for await (const { workflowId } of harness.holdpoint.client.workflow.list({ query })) found.push(workflowId);
      return found;
    };
    await eventually(async () => {
      expect(await find(`HoldpointRequester = '${one}' AND HoldpointState = 'pending'`)).toEqual([
        first.turn.workflowId,
      ]);
      expect(await find(`HoldpointRequester = '${one}' AND HoldpointTool = 'delete_rows'`)).toHaveLength(1);
      expect(await find(`HoldpointRequester = '${one}' AND HoldpointServer = 'orders-db'`)).toHaveLength(1);
      expect(await find(`HoldpointRequester = '${one}' AND HoldpointApprovers = 'dba'`)).toHaveLength(1);
    });
    expect(await find(`HoldpointRequester = 'user-7-a'`)).toEqual([]);
    expect(await find(`HoldpointRequester = '${one}' AND HoldpointTool = 'rows'`)).toEqual([]);
    expect(await find(`HoldpointRequester = '${one}' AND HoldpointTool = 'apply_migration'`)).toEqual([]);
    await harness.applyPolicy();
  });

  test('the namespace has five attributes, keywords all [ENG-11]', async () => {
    const { customAttributes } = await harness.holdpoint.client.connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    const own = Object.entries(customAttributes).filter(([name]) => name.startsWith('Holdpoint'));
    expect(Object.fromEntries(own)).toEqual({
      HoldpointState: 2,
      HoldpointRequester: 2,
      HoldpointServer: 7,
      HoldpointTool: 7,
      HoldpointApprovers: 7,
    });
  });

  test('51 calls are refused at the start, with the limit named [ENG-13]', async () => {
    const calls = Array.from({ length: 51 }, (_, index) => read(`c${index}`));
    await expect(harness.start(calls, { requester: someone() })).rejects.toMatchObject({
      code: 'TURN_INVALID',
      message: expect.stringContaining('50') as string,
    });
  });

  test('50 calls run side by side, and the process warns of nothing', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error) => void warnings.push(warning.message);
    process.on('warning', listen);
    const calls = Array.from({ length: 50 }, (_, index) => read(`c${index}`));
    const turn = await harness.start(calls, { requester: someone() });
    expect((await turn.results()).map((result) => result.outcome)).toEqual(Array(50).fill('executed'));
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  test('a turn terminated while its call runs: the outcome is on record, and the same start reads it', async () => {
    harness.tools.behave('delete_rows', { kind: 'hold' }, 1);
    const [id, requester] = [randomUUID(), someone()];
    const calls = [remove('c1', { id: 71 })];
    const turn = await harness.start(calls, { id, requester });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    await eventually(() => expect(harness.tools.receivedBy('delete_rows').at(-1)?.arguments['id']).toBe(71));
    await harness.holdpoint.client.workflow.getHandle(turn.workflowId).terminate('by an operator');
    harness.tools.release('delete_rows');
    await eventually(async () =>
      expect((await harness.ledger.operation(request!.operationId))?.state).toBe('executed'),
    );
    const again = await harness.start(calls, { id, requester });
    expect(await outcomes(again)).toEqual([['c1', 'executed']]);
    expect(runs(71)).toHaveLength(1);
  });

  test('a turn cut off while it waits is taken up by the same start: nobody is asked twice', async () => {
    const [id, requester] = [randomUUID(), someone()];
    const calls = [remove('c1', { id: 72 })];
    const turn = await harness.start(calls, { id, requester });
    const [request] = await harness.requests(turn);
    await harness.holdpoint.client.workflow.getHandle(turn.workflowId).terminate('by an operator');
    const again = await harness.start(calls, { id, requester });
    expect(await harness.requests(again)).toEqual([request]);
    await harness.decide(request!, 'allow');
    expect(await outcomes(again)).toEqual([['c1', 'executed']]);
    expect((await harness.notices(request!.operationId)).filter((name) => name.endsWith(':opened'))).toHaveLength(1);
  });

  test('several runtimes that take up one turn that was cut off all attach, while it waits', async () => {
    const [id, requester] = [randomUUID(), someone()];
    const calls = [remove('c1', { id: 73 })];
    const turn = await harness.start(calls, { id, requester });
    const [request] = await harness.requests(turn);
    await harness.holdpoint.client.workflow.getHandle(turn.workflowId).terminate('by an operator');
    const since = Date.now();
    const turns = await Promise.all(Array.from({ length: 8 }, () => harness.start(calls, { id, requester })));
    expect(Date.now() - since).toBeLessThan(8_000);
    expect(await harness.requests(turns[7]!)).toEqual([request]);
    await harness.decide(request!, 'deny');
    for (const each of turns) expect(await outcomes(each)).toEqual([['c1', 'denied']]);
  });

  test('a decision for a turn that never was is an unknown request, on record', async () => {
    const decision = { ...decisionOn((await begin()).request, 'allow'), operationId: `op_${'e'.repeat(40)}` };
    expect(await harness.holdpoint.decide(`no-turn-${randomUUID()}`, decision)).toMatchObject({
      code: 'unknownRequest',
      state: null,
    });
    const facts = await harness.facts();
    expect(facts.filter((fact) => fact.body['namedOperation'] === decision.operationId)).toHaveLength(1);
  });

  test('the 201st decision of a turn gets a typed limit; the deadline still fires [ENG-13]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 13 }));
    const flood = Array.from({ length: 200 }, () =>
      sendSignal(harness, turn, decisionOn(request, 'allow', { reviewer: 'x' })),
    );
    await Promise.all(flood);
    expect(await sendUpdate(harness, turn, decisionOn(request, 'allow'))).toMatchObject({
      code: 'limit',
      detail: expect.stringContaining('200') as string,
    });
    expect(await statuses(turn)).toEqual(['pending']);
    clock.advance(30 * MINUTE_MS);
    await nudge(harness, turn);
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
    expect(runs(13)).toHaveLength(0);
  }, 30_000);

  test('200 messages that name no call of the turn keep no decision out [ENG-13]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 131 }));
    const junk = [{ answer: 'allow' }, 'allow', { ...decisionOn(request, 'allow'), operationId: 'op_0' }, null];
    await Promise.all(Array.from({ length: 204 }, (_, index) => sendSignal(harness, turn, junk[index % junk.length])));
    expect(await sendUpdate(harness, turn, {})).toMatchObject({ code: 'limit' });
    expect(await sendUpdate(harness, turn, decisionOn(request, 'allow'))).toMatchObject({ code: 'accepted' });
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  }, 30_000);

  test('a decision that the turn judges no more counts in the ledger all the same', async () => {
    const { turn, request } = await begin(remove('c1', { id: 132 }));
    const flood = Array.from({ length: 200 }, () =>
      sendSignal(harness, turn, decisionOn(request, 'allow', { reviewer: 'x' })),
    );
    await Promise.all(flood);
    expect(await sendUpdate(harness, turn, decisionOn(request, 'allow'))).toMatchObject({ code: 'limit' });
    expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'accepted' });
    // The sweeper tells the turn.
    clock.advance(3_000);
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect(runs(132)).toHaveLength(1);
  }, 30_000);

  test('a turn takes at most 20 events and 3 tasks without approval, 28 and 5 with one [ENG-14]', async () => {
    const count = async (workflowId: string) => {
      const events = await historyOf(harness, workflowId);
      const tasks = events.filter((event) => event.workflowTaskCompletedEventAttributes).length;
      const attempts = events.flatMap((event) => {
        const scheduled = event.activityTaskScheduledEventAttributes;
        return scheduled?.activityType?.name === 'runTool' ? [scheduled.retryPolicy?.maximumAttempts] : [];
      });
      return { events: events.length, tasks, attempts };
    };
    const free = await harness.start([read()], { requester: someone() });
    await free.results();
    const asked = await begin(remove('c1', { id: 14 }));
    await harness.decide(asked.request, 'allow');
    await asked.turn.results();
    const [without, asked1] = [await count(free.workflowId), await count(asked.turn.workflowId)];
    expect(without.attempts).toEqual([1]);
    expect(asked1.attempts).toEqual([1]);
    expect(without.events).toBeLessThanOrEqual(20);
    expect(without.tasks).toBeLessThanOrEqual(3);
    expect(asked1.events).toBeLessThanOrEqual(28);
    expect(asked1.tasks).toBeLessThanOrEqual(5);
  });
});

describe('without a worker', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness({ worker: false });
  });
  afterEach(() => harness.close());

  const begin = async (call = remove()) => {
    const worker = await harness.startWorker();
    const turn = await harness.start([call], { requester: someone() });
    const [request] = await harness.requests(turn);
    await worker.stop();
    return { turn, request: request! };
  };

  test('a decision is answered notRecorded in bounded time, and recorded once when a worker is back [ENG-04]', async () => {
    const { turn, request } = await begin();
    const since = Date.now();
    const verdict = await harness.holdpoint.decide(request.workflowId, decisionOn(request, 'allow'));
    expect(verdict).toMatchObject({
      code: 'notRecorded',
      detail: expect.stringContaining('waits in Temporal') as string,
    });
    expect(Date.now() - since).toBeLessThan(7_000);
    await harness.startWorker();
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    const facts = await harness.facts(request.operationId);
    expect(facts.filter((fact) => fact.kind === 'decision.recorded')).toHaveLength(1);
    expect(harness.tools.runs).toHaveLength(1);
  }, 40_000);

  test('a cancel and an allow in one task: withdrawn, nothing is sent [ENG-06]', async () => {
    const { turn, request } = await begin();
    const handle = harness.holdpoint.client.workflow.getHandle(turn.workflowId);
    await sendSignal(harness, turn, decisionOn(request, 'allow'));
    await handle.cancel();
    await harness.startWorker();
    expect(await outcomes(turn)).toEqual([['c1', 'withdrawn']]);
    expect(harness.tools.runs).toHaveLength(0);
    const events = await historyOf(harness, turn.workflowId);
    const signalled = events.findIndex((event) => event.workflowExecutionSignaledEventAttributes);
    const cancelled = events.findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes);
    const between = events.slice(signalled, cancelled).filter((event) => event.workflowTaskCompletedEventAttributes);
    expect(between).toEqual([]);
  });

  test('a turn that was cancelled before it began withdraws its calls and sends nothing', async () => {
    const requester = someone();
    const workflowId = randomUUID();
    const { workflow } = harness.holdpoint.client;
    const calls = [remove('c1'), read('c2')];
    const args = [{ v: 1, turnId: randomUUID(), requester, calls }];
    const handle = await workflow.start('agentTurn', { workflowId, taskQueue: harness.taskQueue, args });
    await handle.cancel();
    await harness.startWorker();
    expect(await handle.result()).toMatchObject({
      results: [{ end: { outcome: 'withdrawn' } }, { end: { outcome: 'withdrawn' } }],
    });
    expect(harness.tools.received).toHaveLength(0);
  });

  test('a start waits for a worker and is not lost', async () => {
    const [id, requester] = [randomUUID(), someone()];
    const starting = harness.start([remove()], { id, requester });
    await eventually(async () =>
      expect(
        (await harness.holdpoint.client.workflowService.listWorkflowExecutions({ namespace: 'default' })).executions,
      ).toBeDefined(),
    );
    await harness.startWorker();
    const turn = await starting;
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'deny');
    expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
  });
});
