import { collectUpdate, snapshotQuery } from '../../workflows/messages';
import { eventually } from '../support/eventually';
import { startCollected, startCollector, type Collector } from '../support/collector';
import { startHarness, type Harness } from '../support/harness';

const CALL = {
  id: 'call',
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: 'ADD COLUMN note' },
};

describe('a turn that is collected', () => {
  let harness: Harness;
  const collectors: Collector[] = [];
  beforeAll(async () => {
    harness = await startHarness();
  }, 30_000);
  afterEach(async () => {
    for (const collector of collectors.splice(0)) await collector.stop();
  });
  afterAll(() => harness.close());

  async function gateway(): Promise<Collector> {
    const collector = await startCollector(harness);
    collectors.push(collector);
    return collector;
  }

  const start = (collector: string | null, call = CALL) => startCollected(harness, { collector, call });

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
