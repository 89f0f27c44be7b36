import { randomUUID } from 'node:crypto';
import { connect } from '../../client';
import { migrate, read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { outcomes, sendSignal, statuses } from '../support/messages';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());
afterEach(() => harness.tools.behave('delete_rows', undefined));

/** The library as another process of a runtime has it. */
const another = () =>
  connect({
    address: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
    namespace: 'default',
    taskQueue: harness.taskQueue,
  });

test('a turn goes on without its runtime, which attaches later and reads the result [DUR-04]', async () => {
  const [id, requester] = [randomUUID(), someone()];
  const runtime = await another();
  const turn = await runtime.startTurn({ id, requester, calls: [remove('c1', { id: 4 })] });
  const [request] = await harness.requests(turn);
  await runtime.close();
  await harness.decide(request!, 'allow');
  await eventually(() => expect(harness.tools.runs.map((run) => run.arguments['id'])).toContain(4));
  const restarted = await another();
  expect(await outcomes(restarted.attach({ id, subject: requester.subject }))).toEqual([['c1', 'executed']]);
  await restarted.close();
});

test('a runtime that knows only the turn id attaches; a start with the same content joins [DUR-06]', async () => {
  const [id, requester] = [randomUUID(), someone()];
  const calls = [remove('c1', { id: 6 })];
  const turn = await harness.start(calls, { id, requester });
  const [request] = await harness.requests(turn);
  const attached = harness.holdpoint.attach({ id, subject: requester.subject });
  expect((await attached.snapshot()).requiredActions).toEqual([request]);
  const joined = await harness.start(calls, { id, requester });
  expect((await joined.snapshot()).requiredActions).toEqual([request]);
  await harness.decide(request!, 'allow');
  expect(await outcomes(joined)).toEqual([['c1', 'executed']]);
  expect(await outcomes(attached)).toEqual([['c1', 'executed']]);
  expect(harness.tools.runs.filter((run) => run.arguments['id'] === 6)).toHaveLength(1);
});

test('starts of one turn at the same instant are one turn [DUR-06]', async () => {
  const [id, requester] = [randomUUID(), someone()];
  const calls = [remove('c1', { id: 61 })];
  const turns = await Promise.all([1, 2, 3, 4].map(() => harness.start(calls, { id, requester })));
  const [request] = await harness.requests(turns[0]!);
  await harness.decide(request!, 'allow');
  for (const turn of turns) expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  expect(harness.tools.runs.filter((run) => run.arguments['id'] === 61)).toHaveLength(1);
});

test('cancelling a turn withdraws what waits and awaits what was sent; the next turn starts normally [DUR-07]', async () => {
  const requester = someone();
  harness.tools.behave('delete_rows', { kind: 'hold' }, 1);
  const turn = await harness.start([migrate('c1', { sql: 'dur07' }), remove('c2', { id: 7 })], { requester });
  const [c1, c2] = await harness.requests(turn, 2);
  await harness.decide(c2!, 'allow');
  await eventually(() => expect(harness.tools.receivedBy('delete_rows').at(-1)?.arguments['id']).toBe(7));
  await harness.holdpoint.client.workflow.getHandle(turn.workflowId).cancel();
  await eventually(async () => expect(await statuses(turn)).toEqual(['withdrawn', 'dispatched']));
  harness.tools.release('delete_rows');
  expect(await outcomes(turn)).toEqual([
    ['c1', 'withdrawn'],
    ['c2', 'executed'],
  ]);
  expect((await harness.decide(c1!, 'allow')).code).toBe('conflict');
  const next = await harness.start([read('c1')], { requester });
  expect(await outcomes(next)).toEqual([['c1', 'executed']]);
});

test('a decision by signal or update that reaches a cancelled turn leaves it waiting for what was sent [DUR-07]', async () => {
  harness.tools.behave('delete_rows', { kind: 'hold' }, 1);
  const turn = await harness.start([remove('c1', { id: 70 })], { requester: someone() });
  const [request] = await harness.requests(turn);
  await harness.decide(request!, 'allow');
  await eventually(() => expect(harness.tools.receivedBy('delete_rows').at(-1)?.arguments['id']).toBe(70));
  await harness.holdpoint.client.workflow.getHandle(turn.workflowId).cancel();
  await sendSignal(harness, turn, decisionOn(request!, 'deny', { reviewer: 'r2' }));
  expect((await harness.decide(request!, 'deny', { reviewer: 'r2' })).code).toBe('conflict');
  await sendSignal(harness, turn, {}, 'aprove');
  await eventually(async () => expect(await statuses(turn)).toEqual(['dispatched']));
  harness.tools.release('delete_rows');
  expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
});

test('arguments of 200 KiB are shown whole and run; 257 and 300 KiB are refused before anybody is asked [DUR-10]', async () => {
  const sizes = [200, 257, 300].map((kib) => 'x'.repeat(kib * 1024));
  const calls = sizes.map((sql, index) => migrate(`c${index + 1}`, { sql }));
  const turn = await harness.start(calls, { requester: someone() });
  const [request] = await harness.requests(turn);
  expect(request!.arguments['sql']).toBe(sizes[0]);
  expect(await statuses(turn)).toEqual(['pending', 'refused', 'refused']);
  await harness.decide(request!, 'allow');
  const results = await turn.results();
  expect(results.map((result) => result.outcome)).toEqual(['executed', 'refused', 'refused']);
  expect(results[1]!.end).toMatchObject({
    code: 'ARGUMENTS_INVALID',
    detail: expect.stringContaining('262144') as string,
  });
  expect(harness.tools.runsOf('apply_migration').at(-1)?.arguments['sql']).toBe(sizes[0]);
});
