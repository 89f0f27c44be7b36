import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listRequests } from '../../ledger/queries';
import { startTemporalServer, type TemporalServer } from '../../worker/temporal-server';
import { eventually } from '../support/eventually';
import { decisionOn } from '../support/harness';
import { startStage, type Stage } from '../support/stage';

const migration = (id: string) => ({
  id,
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: `ADD COLUMN ${id}` },
});

/** A Temporal server of the test's own, with its file, that can be killed and started again at the same address. */
interface OwnServer {
  readonly stage: Stage;
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

async function withOwnServer(work: (own: OwnServer, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-temporal-'));
  let server: TemporalServer | undefined;
  const start = async (port?: number): Promise<string> => {
    const started = await startTemporalServer({
      binary: process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] ?? '',
      namespace: 'default',
      dbFilename: join(folder, 'temporal.db'),
      log: () => undefined,
      ...(port === undefined ? {} : { port }),
    });
    if (!started.ok) throw new Error(started.detail);
    server = started.server;
    return server.address;
  };
  const address = await start();
  const stage = await startStage({ address, policy: { timeout: '60s' } });
  const own: OwnServer = {
    stage,
    kill: async () => server?.kill9(),
    startAgain: async () => expect(await start(Number(address.split(':')[1]))).toBe(address),
  };
  try {
    await work(own, folder);
  } finally {
    await stage.close();
    await server?.kill9();
    await rm(folder, { recursive: true, force: true });
  }
}

describe('a Temporal server that is killed and started again on its file', () => {
  test.concurrent('with everything else killed too: the same three requests, complete and decidable [DUR-01]', () =>
    withOwnServer(async ({ stage, kill, startAgain }) => {
      const worker = await stage.workerProcess();
      const turn = await stage.start(['c1', 'c2', 'c3'].map(migration));
      const asked = await stage.requests(turn, 3);
      const listed = await listRequests(stage.store.db);
      await Promise.all([worker.kill9(), kill()]);
      expect(await listRequests(stage.store.db)).toEqual(listed);
      expect(listed.map(({ request }) => request).sort((a, b) => (a.callId < b.callId ? -1 : 1))).toEqual(asked);
      await startAgain();
      await stage.workerProcess();
      const again = await eventually(() => stage.requests(turn, 3), 20_000);
      expect(again).toEqual(asked);
      expect(again.map(({ arguments: args, deadlineAtMs, shortId }) => [args, deadlineAtMs, shortId])).not.toContain(
        undefined,
      );
      expect((await stage.decide(again[2]!, 'deny')).code).toBe('accepted');
      expect((await stage.decide(again[0]!, 'allow')).code).toBe('accepted');
      expect((await stage.decide(again[1]!, 'allow')).code).toBe('accepted');
      expect((await turn.results()).map(({ outcome }) => outcome)).toEqual(['executed', 'executed', 'denied']);
      expect(stage.tools.runs).toHaveLength(2);
    }),
  );

  test.concurrent('with the worker left running: a decision sent meanwhile is recorded once, and runs', () =>
    withOwnServer(async ({ stage, kill, startAgain }) => {
      await stage.workerProcess();
      const turn = await stage.start([migration('c1')]);
      const [request] = await stage.requests(turn);
      const decision = decisionOn(request!, 'allow');
      await kill();
      const meanwhile = stage.holdpoint.decide(turn.workflowId, decision);
      await startAgain();
      expect(['accepted', 'notRecorded']).toContain((await meanwhile).code);
      await eventually(async () => {
        expect((await stage.holdpoint.decide(turn.workflowId, decision)).code).toBe('accepted');
      }, 20_000);
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
      expect(stage.tools.runs).toHaveLength(1);
      const recorded = (await stage.facts(request!.operationId)).filter(({ kind }) => kind === 'decision.recorded');
      expect(recorded).toHaveLength(1);
    }),
  );

  test.concurrent('while a tool runs: its answer is kept, one effect, executed', () =>
    withOwnServer(async ({ stage, kill, startAgain }) => {
      await stage.workerProcess();
      const turn = await stage.start([migration('c1')]);
      const [request] = await stage.requests(turn);
      stage.tools.behave('apply_migration', { kind: 'hold' }, 1);
      await stage.decide(request!, 'allow');
      await eventually(() => expect(stage.tools.receivedBy('apply_migration')).toHaveLength(1));
      await kill();
      stage.tools.release('apply_migration');
      await eventually(async () => {
        expect(await stage.ledger.operation(request!.operationId)).toMatchObject({ state: 'executed' });
      });
      await startAgain();
      const results = await eventually(() => turn.results(), 30_000);
      expect(results[0]).toMatchObject({ outcome: 'executed', end: { evidence: 'answer' } });
      expect(results[0]!.result).toMatchObject({ structuredContent: { done: true } });
      expect(stage.tools.receivedBy('apply_migration')).toHaveLength(1);
    }),
  );

  test.concurrent(
    'while a tool runs that cannot be looked up, for longer than its heartbeat: not unknown before its time',
    () =>
      withOwnServer(async ({ stage, kill, startAgain }) => {
        await stage.workerProcess();
        const mail = { id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'ops@example.org' } };
        const turn = await stage.start([mail]);
        const [request] = await stage.requests(turn);
        stage.tools.behave('send_mail', { kind: 'hold' }, 1);
        await stage.decide(request!, 'allow');
        await eventually(() => expect(stage.tools.receivedBy('send_mail')).toHaveLength(1));
        await kill();
        const downAtMs = Date.now();
        await eventually(() => expect(Date.now()).toBeGreaterThan(downAtMs + 6_000));
        await startAgain();
        // The attempt is given up by Temporal, and goes on; unless its heartbeat is the first to arrive.
        const status = async () => (await turn.snapshot()).calls[0]?.state.status;
        await eventually(status, 20_000);
        await eventually(async () => expect(await status()).toBe('dispatched'), 7_000).catch(() => undefined);
        expect(['dispatched', 'allowed']).toContain(await status());
        stage.tools.release('send_mail');
        expect((await turn.results())[0]).toMatchObject({ outcome: 'executed', end: { evidence: 'answer' } });
        expect(stage.tools.receivedBy('send_mail')).toHaveLength(1);
      }),
  );

  test.concurrent('with a newer worker and a new message, while three are pending: all still decidable [EVT-05]', () =>
    withOwnServer(async ({ stage, kill, startAgain }, folder) => {
      const worker = await stage.workerProcess();
      const turn = await stage.start(['c1', 'c2', 'c3'].map(migration));
      const asked = await stage.requests(turn, 3);
      const message = await stage.start([migration('c4')]);
      const [later] = await stage.requests(message);
      await worker.stop();
      await kill();
      const bundlePath = join(folder, 'newer-bundle.js');
      const code = await readFile(process.env['HOLDPOINT_TEST_BUNDLE'] ?? '', 'utf8');
      await writeFile(bundlePath, `/* a later build */\n${code}`);
      await startAgain();
      await stage.workerProcess({ bundlePath });
      const verdicts = await Promise.all([...asked, later!].map((request) => stage.decide(request, 'allow')));
      expect(verdicts.map(({ code: each }) => each)).toEqual(Array(4).fill('accepted'));
      expect((await turn.results()).map(({ outcome }) => outcome)).toEqual(Array(3).fill('executed'));
      expect((await message.results()).map(({ outcome }) => outcome)).toEqual(['executed']);
      expect(stage.tools.runs).toHaveLength(4);
    }),
  );
});
