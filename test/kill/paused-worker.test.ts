import type { RunStep } from '../../activities/dependencies';
import type { PolicyVariant } from '../support/policy-text';
import { startStage, type Stage } from '../support/stage';

/** A lease of 2 s and its margin of 5 s, then one second for the tool to settle. */
const POLICY = { timeout: '2s', settleAfter: '1s' } as const;

const CALLS = {
  apply_migration: { environment: 'production', sql: 'ADD COLUMN note' },
  send_mail: { to: 'ops@example.org', subject: 'done' },
} as const;

/** What stands still keeps each task that its open polls are given until Temporal takes it back: 10 s for each poll. */
const ONE_POLL = { maxCachedWorkflows: 0, maxConcurrentWorkflowTaskPolls: 1 };

interface Paused {
  readonly tool: keyof typeof CALLS;
  readonly at: RunStep;
  readonly policy?: Omit<PolicyVariant, 'url'>;
}

/**
 * Allows one call whose worker stands still at a step, as a frozen machine does, until a second worker has ended the
 * turn; then the first goes on where it stood.
 */
async function pausedAt(
  { tool, at, policy }: Paused,
  work: (stage: Stage, ended: Ended) => Promise<void>,
): Promise<void> {
  const stage = await startStage({ policy: { ...POLICY, ...policy } });
  try {
    const first = await stage.workerProcess({ at: { step: at, signal: 'SIGSTOP' }, worker: ONE_POLL });
    const turn = await stage.start([{ id: 'c1', server: 'orders-db', tool, arguments: CALLS[tool] }]);
    const [request] = await stage.requests(turn);
    expect((await stage.decide(request!, 'allow')).code).toBe('accepted');
    expect(await first.waitForLine(/^SIGSTOP/, 10_000)).toContain(at);
    await stage.workerProcess();
    const [result] = await turn.results();
    process.kill(first.pid, 'SIGCONT');
    // An orderly stop waits for the attempt that stood still.
    expect(await first.stop(20_000)).toEqual({ code: 0, signal: null });
    await work(stage, { operationId: request!.operationId, turnSaw: result!.outcome });
  } finally {
    await stage.close();
  }
}

interface Ended {
  readonly operationId: string;
  readonly turnSaw: string;
}

describe('a worker that stands still while it runs a tool, until another has taken over', () => {
  test.concurrent('before the transaction: the other runs the call, and this one does not [EXEC-05]', () =>
    pausedAt({ tool: 'apply_migration', at: 'beforeTransaction' }, async (stage, { operationId, turnSaw }) => {
      expect(turnSaw).toBe('executed');
      expect(stage.tools.receivedBy('apply_migration').map((call) => call.operationId)).toEqual([operationId]);
    }),
  );

  test.concurrent(
    'after the transaction: proven absent, so failed, and this one sends nothing any more [EXEC-06]',
    () =>
      pausedAt({ tool: 'apply_migration', at: 'afterTransaction' }, async (stage, { operationId, turnSaw }) => {
        expect(turnSaw).toBe('failed');
        expect(stage.tools.receivedBy('apply_migration')).toEqual([]);
        expect(await stage.ledger.operation(operationId)).toMatchObject({ state: 'failed', evidence: 'lookUp' });
      }),
  );

  test.concurrent('after the transaction of an idempotent tool: sent once, by the other [EXEC-06]', () => {
    const paused = { tool: 'apply_migration', at: 'afterTransaction', policy: { idempotent: true } } as const;
    return pausedAt(paused, async (stage, { operationId, turnSaw }) => {
      expect(turnSaw).toBe('executed');
      expect(stage.tools.receivedBy('apply_migration').map((call) => call.operationId)).toEqual([operationId]);
      expect(await stage.ledger.operation(operationId)).toMatchObject({ state: 'executed', attempt: 2 });
    });
  });

  test.concurrent('after the transaction, without a look-up: sends nothing any more, which settles it [EXEC-07]', () =>
    pausedAt({ tool: 'send_mail', at: 'afterTransaction' }, async (stage, { operationId, turnSaw }) => {
      expect(turnSaw).toBe('unknown');
      expect(stage.tools.receivedBy('send_mail')).toEqual([]);
      expect(await stage.ledger.operation(operationId)).toMatchObject({ state: 'failed', evidence: 'notSent' });
    }),
  );

  test.concurrent('with the answer in hand: the outcome that was looked up stands, one effect [EXEC-05]', () =>
    pausedAt({ tool: 'apply_migration', at: 'afterSend' }, async (stage, { operationId, turnSaw }) => {
      expect(turnSaw).toBe('executed');
      expect(stage.tools.runs).toHaveLength(1);
      expect(await stage.ledger.operation(operationId)).toMatchObject({ state: 'executed', evidence: 'lookUp' });
    }),
  );
});
