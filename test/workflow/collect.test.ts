import { randomUUID } from 'node:crypto';
import { Worker, NativeConnection } from '@temporalio/worker';
import { createActivities } from '../../activities';
import { turnWorkflowId, type TurnInput } from '../../core/turn';
import { agentTurn } from '../../workflows';
import { collectUpdate, snapshotQuery } from '../../workflows/messages';
import { eventually } from '../support/eventually';
import { startHarness, U1, type Harness } from '../support/harness';

const CALL = {
  id: 'call',
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: 'ADD COLUMN note' },
};

/** A process that collects: its queue, and whether somebody is there. */
interface GatewayLike {
  readonly taskQueue: string;
  there: boolean;
  asked: number;
  /** Nobody is there for the first so many times. */
  absentTimes: number;
  beforeFirstAnswer: Promise<void>;
  stop(): Promise<void>;
}

describe('a turn that is collected', () => {
  let harness: Harness;
  const gateways: GatewayLike[] = [];
  beforeAll(async () => {
    harness = await startHarness();
  }, 30_000);
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) await gateway.stop();
  });
  afterAll(() => harness.close());

  async function gateway(): Promise<GatewayLike> {
    const connection = await NativeConnection.connect({ address: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '' });
    const taskQueue = `gateway-${randomUUID()}`;
    const { runTool, openRequests } = createActivities(harness.deps);
    const like: GatewayLike = {
      taskQueue,
      there: true,
      asked: 0,
      absentTimes: 0,
      beforeFirstAnswer: Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    const worker = await Worker.create({
      connection,
      taskQueue,
      shutdownGraceTime: '100ms',
      activities: {
        openRequests,
        runTool: async (input: Parameters<typeof runTool>[0]) => {
          like.asked += 1;
          if (like.asked === 1) await like.beforeFirstAnswer;
          const nobody = { state: { status: 'allowed', revision: 0 }, unrecorded: null, nobodyThere: true } as const;
          return like.there && like.asked > like.absentTimes ? runTool(input) : nobody;
        },
      },
    });
    const run = worker.run();
    like.stop = async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await run;
      await connection.close();
    };
    gateways.push(like);
    return like;
  }

  async function start(collector: string | null, call = CALL) {
    const turn: TurnInput = { v: 1, turnId: randomUUID(), requester: U1, calls: [call], collected: true };
    const handle = await harness.holdpoint.client.workflow.start(agentTurn, {
      workflowId: turnWorkflowId(U1.subject, turn.turnId),
      taskQueue: harness.taskQueue,
      args: collector === null ? [turn] : [turn, { taskQueue: collector }],
    });
    return { handle, turn: harness.holdpoint.attach({ id: turn.turnId, subject: U1.subject }) };
  }

  const ran = (sql: string) => harness.tools.runs.filter(({ arguments: given }) => given['sql'] === sql).length;
  const statusOf = async ({ handle }: Awaited<ReturnType<typeof start>>) =>
    (await handle.query(snapshotQuery)).calls[0]?.state.status;

  test('waits although it is allowed while nobody is there, and runs once somebody collects it [WIRE-4]', async () => {
    const call = { ...CALL, arguments: { ...CALL.arguments, sql: 'WAITS' } };
    const started = await start(null, call);
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    expect(await statusOf(started)).toBe('allowed');
    expect(ran('WAITS')).toBe(0);
    const { taskQueue } = await gateway();
    await started.handle.executeUpdate(collectUpdate, { args: [{ taskQueue }] });
    const [result] = await started.turn.results();
    expect(result?.outcome).toBe('executed');
    expect(ran('WAITS')).toBe(1);
  });

  test('waits for the next one where whoever was there has left', async () => {
    const left = await gateway();
    left.there = false;
    const started = await start(left.taskQueue, { ...CALL, arguments: { ...CALL.arguments, sql: 'LEFT' } });
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    await eventually(() => {
      if (left.asked === 0) throw new Error('not asked yet');
    });
    expect(await statusOf(started)).toBe('allowed');
    const next = await gateway();
    await started.handle.executeUpdate(collectUpdate, { args: [{ taskQueue: next.taskQueue }] });
    await started.turn.results();
    expect([ran('LEFT'), left.asked, next.asked]).toEqual([1, 1, 1]);
  });

  test('counts whoever came while it was being found that somebody else had left', async () => {
    const back = await gateway();
    back.absentTimes = 1;
    let answer: () => void = () => undefined;
    back.beforeFirstAnswer = new Promise((resolve) => (answer = resolve));
    const started = await start(back.taskQueue, { ...CALL, arguments: { ...CALL.arguments, sql: 'CROSSED' } });
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    await eventually(() => {
      if (back.asked === 0) throw new Error('not asked yet');
    });
    await started.handle.executeUpdate(collectUpdate, { args: [{ taskQueue: back.taskQueue }] });
    answer();
    await started.turn.results();
    expect([ran('CROSSED'), back.asked]).toEqual([1, 2]);
  }, 10_000);

  test('sends nothing to a process that is gone, and waits for the next one [DUR-05]', async () => {
    const started = await start('nobody-polls-here', { ...CALL, arguments: { ...CALL.arguments, sql: 'GONE' } });
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    expect(await statusOf(started)).toBe('allowed');
    const next = await gateway();
    await started.handle.executeUpdate(collectUpdate, { args: [{ taskQueue: next.taskQueue }] });
    await started.turn.results();
    expect(ran('GONE')).toBe(1);
  }, 30_000);

  test('may be taken back while it waits to be collected', async () => {
    const started = await start(null, { ...CALL, arguments: { ...CALL.arguments, sql: 'BACK' } });
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    await started.turn.withdraw({ reason: 'no longer needed' });
    const [result] = await started.turn.results();
    expect(result?.outcome).toBe('withdrawn');
    expect(ran('BACK')).toBe(0);
  });

  test('takes no word of a collector that is no task queue', async () => {
    const started = await start(null, { ...CALL, arguments: { ...CALL.arguments, sql: 'JUNK' } });
    for (const junk of [null, 'queue', { taskQueue: 7 }, { taskQueue: '' }])
      await started.handle.executeUpdate(collectUpdate, { args: [junk] });
    const [request] = await harness.requests(started.turn);
    if (request === undefined) throw new Error('no request');
    await harness.decide(request, 'allow');
    expect(await statusOf(started)).toBe('allowed');
    await started.turn.withdraw();
  });
});
