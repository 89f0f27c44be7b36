import { migrate, read, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { nudge, outcomes, sendUpdate, statuses } from '../support/messages';

/** Temporal ends a turn whose history has 51,200 events or 50 MB: what may come often must leave little in it. */
const KIB = 1024;
const clock = testClock();
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs });
}, 30_000);
afterAll(() => harness.close());

const sizeOf = async (workflowId: string) => {
  const { raw } = await harness.holdpoint.client.workflow.getHandle(workflowId).describe();
  const { historyLength, historySizeBytes } = raw.workflowExecutionInfo ?? {};
  return { events: Number(historyLength), bytes: Number(historySizeBytes) };
};

test('decisions that do not count leave no card behind', async () => {
  const turn = await harness.start([migrate('c1', { sql: 'x'.repeat(250 * KIB) })], { requester: someone() });
  const [request] = await harness.requests(turn);
  const before = await sizeOf(turn.workflowId);
  for (let time = 0; time < 20; time += 1) {
    expect((await harness.decide(request!, 'allow', { reviewer: 'nobody' })).code).toBe('notAReviewer');
  }
  expect((await sizeOf(turn.workflowId)).bytes - before.bytes).toBeLessThan(100 * KIB);
  await harness.decide(request!, 'deny');
  expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
});

test('decisions after a large result leave no copy of it behind', async () => {
  harness.tools.behave('delete_rows', { kind: 'big', chars: 400 * KIB }, 1);
  const turn = await harness.start([remove('c1'), migrate('c2')], { requester: someone() });
  const [c1] = await harness.requests(turn, 2);
  await harness.decide(c1!, 'allow');
  await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'pending']));
  const before = await sizeOf(turn.workflowId);
  for (let time = 0; time < 20; time += 1) await sendUpdate(harness, turn, decisionOn(c1!, 'allow'));
  expect((await sizeOf(turn.workflowId)).bytes - before.bytes).toBeLessThan(100 * KIB);
  await turn.withdraw();
  const results = await turn.results();
  expect(results[0]!.textForModel).toHaveLength(400 * KIB);
});

test('reminders of ten large requests leave neither cards nor an event each', async () => {
  await harness.applyPolicy({ deadline: '{ after: 30m, then: keepWaiting, remindEvery: 30m }' });
  const calls = Array.from({ length: 10 }, (_, index) =>
    migrate(`c${index}`, { sql: `${index}${'x'.repeat(50 * KIB)}` }),
  );
  const turn = await harness.start(calls, { requester: someone() });
  const requests = await harness.requests(turn, 10);
  const before = await sizeOf(turn.workflowId);
  for (let time = 0; time < 10; time += 1) {
    clock.advance(31 * MINUTE_MS);
    await nudge(harness, turn);
    const reminded = time + 1;
    await eventually(async () => {
      const ids = await harness.notices(requests[9]!.operationId);
      expect(ids.filter((id) => /:(reminded|escalated):/.test(id)).length).toBeGreaterThanOrEqual(reminded);
    });
  }
  const after = await sizeOf(turn.workflowId);
  expect(after.events - before.events).toBeLessThan(10 * 8);
  expect(after.bytes - before.bytes).toBeLessThan(100 * KIB);
  await turn.withdraw();
  expect((await outcomes(turn)).map(([, outcome]) => outcome)).toEqual(Array(10).fill('withdrawn'));
  await harness.applyPolicy();
});

test('a policy cannot remind more often than every ten minutes', async () => {
  await expect(harness.applyPolicy({ deadline: '{ after: 30m, then: keepWaiting, remindEvery: 9m }' })).rejects.toThrow(
    '10m',
  );
});

test('an ungated call of a turn that was asked nothing leaves its result once', async () => {
  harness.tools.behave('read_rows', { kind: 'big', chars: 400 * KIB }, 1);
  const turn = await harness.start([read()], { requester: someone() });
  await turn.results();
  expect((await sizeOf(turn.workflowId)).bytes).toBeLessThan(900 * KIB);
});
