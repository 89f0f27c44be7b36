import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { eventually } from '../support/eventually';
import { decisionOn, U1 } from '../support/harness';
import type { PolicyVariant } from '../support/policy-text';
import { startStage, type Stage } from '../support/stage';

const MIGRATION = { environment: 'production', sql: 'ADD COLUMN note' };
const migration = (id: string) => ({ id, server: 'orders-db', tool: 'apply_migration', arguments: MIGRATION });

async function staged(policy: Omit<PolicyVariant, 'url'>, work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await startStage({ policy });
  await work(stage).finally(() => stage.close());
}

/** Statements past Holdpoint: what time would have changed. Moves the ledger's past, since its clock cannot be moved. */
async function rewrite({ ledgerUrl }: Stage, statement: string): Promise<void> {
  const database = (await sqliteEngine()).open(fileURLToPath(ledgerUrl));
  database.exec(statement);
  database.close();
}

describe('turns that wait while their worker is killed', () => {
  test.concurrent('run what the ledger allowed an hour ago and the turn never heard of, once [DUR-03]', () =>
    staged({}, async (stage) => {
      const first = await stage.workerProcess();
      const turn = await stage.start([migration('c1')]);
      const [request] = await stage.requests(turn);
      await first.kill9();
      const { verdict } = await stage.ledger.recordDecision(decisionOn(request!, 'allow'), request!.workflowId);
      expect(verdict.code).toBe('accepted');
      await rewrite(stage, 'update requests set closed_at = closed_at - 3600000');
      await Promise.all([stage.workerProcess(), stage.workerProcess()]);
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
      expect(stage.tools.runs).toHaveLength(1);
    }),
  );

  test.concurrent('keep the absolute deadline under which they were asked [TIME-07]', () =>
    staged({ deadline: '{ after: 30m, then: expire }' }, async (stage) => {
      const first = await stage.workerProcess();
      const turn = await stage.start([migration('c1')]);
      const [request] = await stage.requests(turn);
      await stage.applyPolicy({ deadline: '{ after: 2s, then: expire }', escalateAfter: '1s' });
      await first.kill9();
      await eventually(() => expect(Date.now()).toBeGreaterThan(request!.openedAtMs + 2_000));
      await stage.workerProcess();
      const [still] = await stage.requests(turn);
      expect(still).toEqual(request);
      expect(still!.deadlineAtMs - still!.openedAtMs).toBe(30 * 60_000);
      expect((await stage.decide(still!, 'allow')).code).toBe('accepted');
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
    }),
  );

  test.concurrent('a window grant covers until its own end, and not a moment longer [DUR-09]', () =>
    staged({ validity: '{ minutes: 15 }' }, async (stage) => {
      const first = await stage.workerProcess();
      const turn = await stage.start([migration('c1')]);
      const [request] = await stage.requests(turn);
      await stage.decide(request!, 'allow');
      await turn.results();
      await first.kill9();
      const grant = () => stage.store.db.selectFrom('grants').selectAll().executeTakeFirstOrThrow();
      expect((await grant()).expires_at - (await grant()).granted_at).toBe(15 * 60_000);
      const { expires_at: endsAtMs } = await grant();
      await stage.workerProcess();
      const covered = await stage.start([migration('c1')]);
      expect((await covered.results())[0]).toMatchObject({ outcome: 'executed' });
      expect((await grant()).expires_at).toBe(endsAtMs);
      // As if the 15 minutes had passed.
      await rewrite(stage, `update grants set expires_at = ${Date.now()}`);
      const after = await stage.start([migration('c1')]);
      expect(await stage.requests(after)).toHaveLength(1);
      expect(stage.tools.runs).toHaveLength(2);
    }),
  );
});

test('a call that is being opened when its worker is killed is opened by the next within 30 s', async () => {
  const stage = await startStage();
  try {
    const first = await stage.workerProcess();
    stage.tools.behave('schema_version', { kind: 'hang' }, 1);
    const turn = await stage.start([migration('c1')]);
    await first.kill9();
    await stage.workerProcess();
    const opened = async () => expect((await turn.snapshot()).requiredActions).toHaveLength(1);
    await eventually(opened, 30_000);
  } finally {
    await stage.close();
  }
});

test('a worker that stands still while it is idle holds nothing up for longer than 30 s', async () => {
  const stage = await startStage();
  try {
    const [still] = await Promise.all([stage.workerProcess(), stage.workerProcess()]);
    process.kill(still.pid, 'SIGSTOP');
    const start = () => stage.holdpoint.startTurn({ id: randomUUID(), requester: U1, calls: [migration('c1')] });
    const turns = await Promise.all(Array.from({ length: 10 }, start));
    await eventually(async () => {
      const rows = await stage.store.db.selectFrom('requests').select('workflow_id').execute();
      expect(rows.map((row) => row.workflow_id).sort()).toEqual(turns.map((turn) => turn.workflowId).sort());
    }, 30_000);
  } finally {
    await stage.close();
  }
});
