import type { Decision, Turn, Verdict } from '../../client';
import { decisionOn } from '../support/harness';
import { freshDatabase, type FreshDatabase } from '../support/postgres';
import { startRacers, type Racers } from '../support/racers';
import { startStage, type Stage } from '../support/stage';

const deletion = (id: string, row: number) => ({
  id,
  server: 'orders-db',
  tool: 'delete_rows',
  arguments: { id: row },
});

/** Reviewers' clients, one a process. */
let clients: Racers;
beforeAll(async () => {
  clients = await startRacers(2);
}, 60_000);
afterAll(() => clients.close());

describe.each([
  { kind: 'sqlite', scale: 1 },
  { kind: 'postgres', scale: 5 },
] as const)('clients that decide at the same instant, two workers, ledger on $kind', ({ kind, scale }) => {
  let database: FreshDatabase | undefined;
  let stage: Stage;

  beforeAll(async () => {
    database = kind === 'postgres' ? await freshDatabase() : undefined;
    stage = await startStage(database === undefined ? {} : { ledgerUrl: database.url });
    await Promise.all([stage.workerProcess(), stage.workerProcess()]);
  }, 60_000);
  afterAll(async () => {
    await stage.close();
    await database?.drop();
  });

  const deciding = (turn: Turn, decision: Decision) =>
    ({
      address: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
      taskQueue: stage.taskQueue,
      workflowId: turn.workflowId,
      decision,
    }) as const;

  /** Opens turns a few at a time, which saves time and stays below the limit of open requests. */
  async function inRounds(rounds: number, calls: number, work: (turn: Turn, round: number) => Promise<void>) {
    const together = Math.floor(8 / calls);
    for (let round = 0; round < rounds; round += together) {
      const starting = Array.from({ length: Math.min(together, rounds - round) }, (_, nth) =>
        stage.start(Array.from({ length: calls }, (_call, index) => deletion(`c${index + 1}`, round + nth))),
      );
      const turns = await Promise.all(starting);
      for (const [nth, turn] of turns.entries()) await work(turn, round + nth);
      await Promise.all(turns.map((turn) => turn.results()));
    }
  }
  const runsOf = (operationId: string) => stage.tools.runs.filter((run) => run.operationId === operationId).length;

  test(`c1 and c2 allowed at once: both recorded, both run, ${100 / scale} rounds [TURN-09]`, async () => {
    await inRounds(100 / scale, 2, async (turn) => {
      const [c1, c2] = await stage.requests(turn, 2);
      const verdicts = await clients.race<Verdict[]>(
        deciding(turn, decisionOn(c1!, 'allow')),
        deciding(turn, decisionOn(c2!, 'allow', { reviewer: 'r2' })),
      );
      expect(verdicts.map(({ code, operationId }) => ({ code, operationId }))).toEqual([
        { code: 'accepted', operationId: c1!.operationId },
        { code: 'accepted', operationId: c2!.operationId },
      ]);
      expect((await turn.results()).map(({ outcome }) => outcome)).toEqual(['executed', 'executed']);
      expect([runsOf(c1!.operationId), runsOf(c2!.operationId)]).toEqual([1, 1]);
    });
  });

  test(`two equal decisions at once: one effect, the same answer to both, ${50 / scale} tries [EXEC-01]`, async () => {
    await inRounds(50 / scale, 1, async (turn) => {
      const [request] = await stage.requests(turn);
      const decision = decisionOn(request!, 'allow');
      const [one, other] = await clients.race<Verdict[]>(deciding(turn, decision), deciding(turn, decision));
      expect(one).toMatchObject({ code: 'accepted', state: 'allowed', decidedBy: ['r1'] });
      expect(other).toEqual(one);
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
      expect(runsOf(request!.operationId)).toBe(1);
      expect(
        (await stage.facts(request!.operationId)).filter(({ kind: each }) => each === 'decision.recorded'),
      ).toHaveLength(1);
    });
  });

  test(`allow and deny at once: one winner, at most one run, ${25 / scale} rounds [EXEC-02] [GATE-2]`, async () => {
    await inRounds(25 / scale, 1, async (turn) => {
      const [request] = await stage.requests(turn);
      const verdicts = await clients.race<Verdict[]>(
        deciding(turn, decisionOn(request!, 'allow', { reviewer: 'r1' })),
        deciding(turn, decisionOn(request!, 'deny', { reviewer: 'r2' })),
      );
      const allowed = verdicts[0]!.code === 'accepted';
      expect(verdicts.map(({ code }) => code).sort()).toEqual(['accepted', 'conflict']);
      expect(verdicts[allowed ? 1 : 0]).toMatchObject({ decidedBy: [allowed ? 'r1' : 'r2'] });
      expect((await turn.results())[0]).toMatchObject({ outcome: allowed ? 'executed' : 'denied' });
      expect(runsOf(request!.operationId)).toBe(allowed ? 1 : 0);
    });
  });
});
