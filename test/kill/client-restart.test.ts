import { randomUUID } from 'node:crypto';
import type { TurnStart } from '../../client';
import type { Child } from '../../worker/child-process';
import type { ClientTold } from '../support/client-child';
import { eventually } from '../support/eventually';
import { startScript, startStage, type Stage } from '../support/stage';

const U1 = { subject: 'u1', agent: 'bot' };
const deletion = (id: string, row: number) => ({
  id,
  server: 'orders-db',
  tool: 'delete_rows',
  arguments: { id: row },
});

describe('an agent runtime that is killed between start and result', () => {
  let stage: Stage;
  const runtimes: Child[] = [];

  beforeAll(async () => {
    stage = await startStage();
    await stage.workerProcess();
  }, 60_000);
  afterAll(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.kill9()));
    await stage.close();
  });

  const startRuntime = async (turn: TurnStart): Promise<Child> => {
    const address = process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '';
    const runtime = await startScript('client-child.ts', {
      address,
      taskQueue: stage.taskQueue,
      turn,
    } satisfies ClientTold);
    runtimes.push(runtime);
    if ((await runtime.waitForLine(/^started$/, 20_000)) === undefined) throw new Error(runtime.recentOutput());
    return runtime;
  };
  const openRequest = async (turn: TurnStart) =>
    (await stage.requests(stage.holdpoint.attach({ id: turn.id, subject: 'u1' })))[0]!;

  test('does not hold its turn up: an allow runs on the worker, and the result is read by turn id later [DUR-04] [DUR-06]', async () => {
    const turn = { id: randomUUID(), requester: U1, calls: [deletion('c1', 7)] };
    const runtime = await startRuntime(turn);
    const request = await openRequest(turn);
    await runtime.kill9();
    expect((await stage.decide(request, 'allow')).code).toBe('accepted');
    await eventually(() => expect(stage.tools.runs.map((run) => run.operationId)).toEqual([request.operationId]));
    const attached = stage.holdpoint.attach({ id: turn.id, subject: 'u1' });
    expect(await attached.results()).toMatchObject([{ callId: 'c1', outcome: 'executed' }]);
  });

  test('starts again with the same content and joins its own turn, before the decision and after the end [DUR-06]', async () => {
    const turn = { id: randomUUID(), requester: U1, calls: [deletion('c1', 8), deletion('c2', 9)] };
    const runsBefore = stage.tools.runs.length;
    await (await startRuntime(turn)).kill9();
    const second = await startRuntime(turn);
    const attached = stage.holdpoint.attach({ id: turn.id, subject: 'u1' });
    const [c1, c2] = await stage.requests(attached, 2);
    await stage.decide(c1!, 'allow');
    await stage.decide(c2!, 'deny');
    const results = JSON.stringify([
      { callId: 'c1', outcome: 'executed' },
      { callId: 'c2', outcome: 'denied' },
    ]);
    expect(await second.waitForLine(/^\[/, 20_000)).toBe(results);
    const third = await startRuntime(turn);
    expect(await third.waitForLine(/^\[/, 20_000)).toBe(results);
    expect(stage.tools.runs).toHaveLength(runsBefore + 1);
    const rows = await stage.store.db
      .selectFrom('requests')
      .select('operation_id')
      .where('workflow_id', '=', attached.workflowId)
      .execute();
    expect(rows).toHaveLength(2);
  });

  test('leaves no second turn under its id: other content is a conflict [DUR-06]', async () => {
    const turn = { id: randomUUID(), requester: U1, calls: [deletion('c1', 10)] };
    await (await startRuntime(turn)).kill9();
    const other = stage.holdpoint.startTurn({ ...turn, calls: [deletion('c1', 11)] });
    await expect(other).rejects.toMatchObject({ code: 'TURN_CONFLICT' });
    expect((await openRequest(turn)).arguments).toEqual({ id: 10 });
  });
});
