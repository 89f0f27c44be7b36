import { fileURLToPath } from 'node:url';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { eventually } from '../support/eventually';
import { decisionOn } from '../support/harness';
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
