import type { RunStep } from '../../activities/dependencies';
import { verifyAudit } from '../../ledger/audit-verify';
import { unknownOperations } from '../../ledger/queries';
import type { Store } from '../../ledger/transaction';
import type { PolicyVariant } from '../support/policy-text';
import { freshDatabase } from '../support/postgres';
import { startStage, type Stage } from '../support/stage';
import { STORE_KINDS } from '../support/stores';

/** A lease of 2 s and its margin of 5 s, then one second for the tool to settle. */
const POLICY = { timeout: '2s', settleAfter: '1s' } as const;

const CALLS = {
  apply_migration: { environment: 'production', sql: 'ADD COLUMN note' },
  send_mail: { to: 'ops@example.org', subject: 'done' },
} as const;

interface Killed {
  readonly tool: keyof typeof CALLS;
  readonly at: RunStep | 'effect';
  readonly policy?: Omit<PolicyVariant, 'url'>;
  readonly store?: Store['kind'];
}

/** Allows one call, kills its worker on the way, and lets a second worker end the turn. */
async function killedAt(stage: Stage, { tool, at }: Killed, meanwhile?: (stage: Stage) => Promise<unknown>) {
  const first = await stage.workerProcess(at === 'effect' ? {} : { at: { step: at, signal: 'SIGKILL' } });
  if (at === 'effect') stage.tools.behave(tool, { kind: 'commitThenSilent' }, 1);
  const turn = await stage.start([{ id: 'c1', server: 'orders-db', tool, arguments: CALLS[tool] }]);
  const [request] = await stage.requests(turn);
  const { operationId } = request!;
  const verdict = await stage.decide(request!, 'allow');
  if (at === 'effect') {
    await stage.ranAtTool(tool);
    await first.kill9();
  }
  expect((await first.exited).signal).toBe('SIGKILL');
  await meanwhile?.(stage);
  await stage.workerProcess();
  const [result] = await turn.results();
  const facts = await stage.facts(operationId);
  const audit = await verifyAudit(stage.store, { publicKeys: [] });
  expect({ verdict: verdict.code, audit: audit.problems, rows: audit.rows?.problems }).toEqual({
    verdict: 'accepted',
    audit: [],
    rows: [],
  });
  expect(facts.filter(({ kind }) => kind === 'decision.recorded')).toHaveLength(1);
  expect(facts.filter(({ kind }) => kind === 'grant.issued')).toHaveLength(1);
  return { operationId, end: result!.end, text: result!.textForModel, facts: facts.map(({ kind }) => kind) };
}

async function staged(killed: Killed, work: (stage: Stage) => Promise<void>): Promise<void> {
  const policy = { ...POLICY, ...killed.policy };
  const database = killed.store === 'postgres' ? await freshDatabase() : undefined;
  const stage = await startStage({ policy, ...(database === undefined ? {} : { ledgerUrl: database.url }) });
  try {
    await work(stage);
  } finally {
    await stage.close();
    await database?.drop();
  }
}

describe('a worker that is killed while it runs a tool', () => {
  test.concurrent('before the transaction has sent nothing: the next worker runs the call, once [DUR-03]', async () => {
    const killed = { tool: 'apply_migration', at: 'beforeTransaction' } as const;
    await staged(killed, async (stage) => {
      expect((await killedAt(stage, killed)).end).toMatchObject({ outcome: 'executed', evidence: 'answer' });
      expect(stage.tools.runs).toHaveLength(1);
    });
  });

  test.concurrent.each(STORE_KINDS)(
    'after the transaction and before the first byte: proven absent, so failed and never sent, ledger on %s [EXEC-06] [GATE-3]',
    async (store) => {
      const killed = { tool: 'apply_migration', at: 'afterTransaction', store } as const;
      await staged(killed, async (stage) => {
        const { end, text } = await killedAt(stage, killed);
        expect(end).toMatchObject({ outcome: 'failed', evidence: 'lookUp' });
        expect(text).toMatch(/nothing was done/i);
        expect(stage.tools.receivedBy('find_migration').length).toBeGreaterThan(0);
        expect(stage.tools.receivedBy('apply_migration')).toEqual([]);
      });
    },
  );

  test.concurrent(
    'there, with a tool that is idempotent by operation id: sent again, one effect [EXEC-06]',
    async () => {
      const killed = { tool: 'apply_migration', at: 'afterTransaction', policy: { idempotent: true } } as const;
      await staged(killed, async (stage) => {
        const { end, facts, operationId } = await killedAt(stage, killed);
        expect(end).toMatchObject({ outcome: 'executed', evidence: 'answer' });
        expect(stage.tools.receivedBy('apply_migration').map((call) => call.operationId)).toEqual([operationId]);
        expect(facts.slice(-4)).toEqual([
          'operation.dispatched',
          'operation.absent',
          'operation.dispatchedAgain',
          'operation.executed',
        ]);
      });
    },
  );

  test.concurrent('there, with access gone meanwhile: not sent again, failed, and the record says why', async () => {
    const killed = { tool: 'apply_migration', at: 'afterTransaction', policy: { idempotent: true } } as const;
    await staged(killed, async (stage) => {
      const access = `  - { subjects: ['u2'], agents: ['*'], server: orders-db, tools: ['*'] }`;
      const { end } = await killedAt(stage, killed, () => stage.applyPolicy({ ...POLICY, idempotent: true, access }));
      expect(end).toMatchObject({ outcome: 'failed', evidence: 'lookUp' });
      expect(end).toHaveProperty('detail', expect.stringMatching(/nothing was done.*ACCESS_DENIED/s));
      expect(stage.tools.receivedBy('apply_migration')).toEqual([]);
    });
  });

  test.concurrent('there, without a look-up: unknown, people are told, a person settles it [EXEC-07]', async () => {
    const killed = { tool: 'send_mail', at: 'afterTransaction' } as const;
    await staged(killed, async (stage) => {
      const { end, operationId } = await killedAt(stage, killed);
      expect(end).toMatchObject({ outcome: 'unknown' });
      expect(stage.tools.receivedBy('send_mail')).toEqual([]);
      expect((await unknownOperations(stage.store.db)).map((each) => each.operationId)).toEqual([operationId]);
      expect(await toldOf(stage, operationId)).toContain('dev.holdpoint.operation.unknown');
      const settlement = { operationId, outcome: 'failed', by: 'r1', reason: 'not in the outbox' } as const;
      expect((await stage.ledger.settle(settlement)).ok).toBe(true);
      expect((await stage.facts(operationId)).at(-1)).toMatchObject({
        kind: 'operation.settled',
        body: { outcome: 'failed', settledBy: 'r1' },
      });
    });
  });

  test.concurrent.each([
    { at: 'effect', title: 'after the effect, before the answer' },
    { at: 'afterSend', title: 'with the answer in hand' },
    { at: 'beforeCommit', title: 'before the result is committed' },
    { at: 'beforeCommit', title: 'before the result is committed, on PostgreSQL', store: 'postgres' },
  ] as const)('$title: looked up by operation id, executed, one effect [EXEC-05] [GATE-4]', async ({ at, ...more }) => {
    const killed = { tool: 'apply_migration', at, ...more } as const;
    await staged(killed, async (stage) => {
      const { end, operationId } = await killedAt(stage, killed);
      expect(end).toMatchObject({ outcome: 'executed', evidence: 'lookUp' });
      expect(stage.tools.receivedBy('apply_migration')).toHaveLength(1);
      expect(stage.tools.runs.map((run) => run.operationId)).toEqual([operationId]);
    });
  });

  test.concurrent(
    'after an effect that cannot be looked up: unknown, one effect, settled as executed [GATE-4]',
    async () => {
      const killed = { tool: 'send_mail', at: 'effect' } as const;
      await staged(killed, async (stage) => {
        const { end, operationId } = await killedAt(stage, killed);
        expect(end).toMatchObject({ outcome: 'unknown' });
        expect(stage.tools.runs).toHaveLength(1);
        const settlement = { operationId, outcome: 'executed', by: 'r1', reason: 'seen in the outbox' } as const;
        expect(await stage.ledger.settle(settlement)).toMatchObject({ state: { end: { evidence: 'settlement' } } });
        expect(stage.tools.receivedBy('send_mail')).toHaveLength(1);
      });
    },
  );
});

async function toldOf(stage: Stage, operationId: string): Promise<readonly string[]> {
  const rows = await stage.store.db.selectFrom('outbox').select(['type', 'body']).execute();
  return rows.filter((row) => row.body.includes(operationId)).map((row) => row.type);
}
