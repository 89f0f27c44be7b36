import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { collectUpdate } from '../../workflows/messages';
import { eventually } from '../support/eventually';
import { migrate, someone } from '../support/calls';
import { startCollected, startCollector } from '../support/collector';
import { startHarness, type Harness } from '../support/harness';

/** In place of the day for which an allowed call waits to be collected. */
const PATIENCE_MS = 2_000;

describe('an allowed call that nobody collects', () => {
  let harness: Harness;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdpoint-patience-'));
    const code = readFileSync(process.env['HOLDPOINT_TEST_BUNDLE'] ?? '', 'utf8');
    const day = 'const ONCE_GRANT_MS = 24 * 3600000;';
    expect(code.split(day)).toHaveLength(2);
    const bundlePath = join(folder, 'bundle.js');
    await writeFile(bundlePath, code.replace(day, `const ONCE_GRANT_MS = ${PATIENCE_MS};`));
    harness = await startHarness({ bundlePath });
  }, 30_000);
  afterAll(async () => {
    await harness.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = () => startCollected(harness, { collector: null, call: migrate(), requester: someone() });
  const requestOf = async ({ turn }: Awaited<ReturnType<typeof start>>, revision: number) =>
    eventually(async () => {
      const [request] = await harness.requests(turn);
      if (request?.revision !== revision) throw new Error(`revision ${revision} is not open`);
      return request;
    });

  test('is taken back, and says why', async () => {
    const started = await start();
    await harness.decide(await requestOf(started, 1), 'allow');
    const [result] = await started.turn.results();
    expect(result?.end).toMatchObject({
      outcome: 'withdrawn',
      detail: 'it was allowed, and nobody came to take its result within 24 hours',
    });
    expect(harness.tools.runsOf('apply_migration')).toHaveLength(0);
  }, 15_000);

  test('waits for as long again where it went back to review in between', async () => {
    const started = await start();
    await harness.decide(await requestOf(started, 1), 'allow');
    harness.tools.setVersion(8);
    const collector = await startCollector(harness);
    try {
      await started.handle.executeUpdate(collectUpdate, { args: [{ taskQueue: collector.taskQueue }] });
      const second = await requestOf(started, 2);
      // The first wait would have ended meanwhile.
      await delay(PATIENCE_MS + 500);
      expect(await requestOf(started, 2)).toEqual(second);
      await harness.decide(second, 'allow');
      const [result] = await started.turn.results();
      expect(result?.outcome).toBe('executed');
    } finally {
      await collector.stop();
    }
  }, 20_000);
});
