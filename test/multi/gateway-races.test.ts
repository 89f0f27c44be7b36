import { setTimeout as delay } from 'node:timers/promises';
import type { RunningGateway } from '../../gateway/start-gateway';
import { applyKillPolicy } from '../support/gateway-kill-policy';
import { seededRandom } from '../support/gateway-kill-random';
import {
  allow,
  countedFacts,
  endGatewayProcesses,
  openRequestWith,
  startGatewayProcess,
  toldUntilEnd,
} from '../support/gateway-kill-stage';
import { callText, callToCut, effectsOf, migration } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { freshDatabase, type FreshDatabase } from '../support/postgres';

/** Below the limit of open requests of one person. */
const TOGETHER = 8;

describe.each([
  { kind: 'sqlite', same: 8, races: 24 },
  { kind: 'postgres', same: 20, races: 50 },
] as const)('two gateways, ledger on $kind', ({ kind, same, races }) => {
  let database: FreshDatabase | undefined;
  let stage: GatewayStage;
  let a: RunningGateway;
  let b: RunningGateway;
  beforeAll(async () => {
    database = kind === 'postgres' ? await freshDatabase() : undefined;
    stage = await startGatewayStage({ waitForMs: 300, ...(database && { ledgerUrl: database.url }) });
    await applyKillPolicy(stage);
    [a, b] = await Promise.all([
      stage.anotherGateway({ waitForMs: 30_000 }),
      stage.anotherGateway({ waitForMs: 30_000 }),
    ]);
  }, 60_000);
  afterAll(async () => {
    await endGatewayProcesses();
    await stage.close();
    await database?.drop();
  });

  async function inRounds(rounds: number, work: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; round < rounds; round += TOGETHER) {
      await Promise.all(Array.from({ length: Math.min(TOGETHER, rounds - round) }, (_, nth) => work(round + nth)));
    }
  }

  test('what is pending at one is collected at the other [GATE-5] [DUR-05]', async () => {
    const pending = await callTool(await stage.client(), 'apply_migration', migration('M other'));
    await allow(stage, await openRequestWith(stage, 'M other'));
    const told = await toldUntilEnd(await stage.client({ gateway: b }), 'apply_migration', migration('M other'));
    expect(approvalOf(told.end)).toMatchObject({ status: 'approved', operationId: approvalOf(pending).operationId });
    expect(effectsOf(stage.tools, 'M other')).toBe(1);
  });

  test(`identical calls at both at the same moment: one operation, one effect, its result for both, ${same} rounds [GATE-1] [DUR-05]`, async () => {
    const clients = await Promise.all([stage.client({ gateway: a }), stage.client({ gateway: b })]);
    await inRounds(same, async (round) => {
      const sql = `M same ${round};`;
      const calls = clients.map((client) => callTool(client, 'apply_migration', migration(sql)));
      const request = await openRequestWith(stage, sql);
      await allow(stage, request);
      const results = await Promise.all(calls);
      expect(results.map((result) => approvalOf(result))).toMatchObject(
        Array(2).fill({ status: 'approved', operationId: request.operationId }),
      );
      expect(results.map((result) => result.structuredContent)).toEqual(
        Array(2).fill({ done: true, tool: 'apply_migration' }),
      );
      expect(effectsOf(stage.tools, sql)).toBe(1);
    });
  });

  test(`an allow lands while the caller at one leaves and another comes at the other: no allow is lost, ${races} rounds [WIRE-4] [DUR-05]`, async () => {
    const random = seededRandom(kind === 'sqlite' ? 1 : 2);
    const client = await stage.client({ gateway: b });
    await inRounds(races, async (round) => {
      const sql = `M race ${round};`;
      const cut = await callToCut(stage, callText(round, 'apply_migration', migration(sql)), { gateway: a });
      const request = await openRequestWith(stage, sql).catch((error: unknown) => {
        throw new Error(`${String(error)}; the call was answered ${cut.answered() ?? 'not at all'}`);
      });
      const at = [random(), random(), random()].map((part) => part * 60);
      const [, , came] = await Promise.all([
        delay(at[0]).then(() => allow(stage, request)),
        delay(at[1]).then(() => cut.leave()),
        delay(at[2]).then(() => callTool(client, 'apply_migration', migration(sql))),
      ]);
      expect({ at, ...approvalOf(came) }).toMatchObject({ status: 'approved', operationId: request.operationId });
      const further = await callTool(client, 'apply_migration', migration(sql));
      expect(approvalOf(further)).toMatchObject({ status: 'approved', operationId: request.operationId });
      expect(effectsOf(stage.tools, sql)).toBe(1);
    });
  });

  test('the one that was told last is killed while a caller waits at the other: that one gets the result [DUR-05]', async () => {
    const killed = await startGatewayProcess(stage);
    const waiting = callTool(await stage.client({ gateway: b }), 'apply_migration', migration('M killed'));
    const request = await openRequestWith(stage, 'M killed');
    const last = await stage.client({ gateway: killed.gateway });
    const lost = callTool(last, 'apply_migration', migration('M killed')).catch(() => 'no answer');
    await collectedBy(2, request.workflowId);
    await killed.child.kill9();
    expect(await lost).toBe('no answer');
    await allow(stage, request);
    expect(approvalOf(await waiting)).toMatchObject({ status: 'approved', operationId: request.operationId });
    expect(effectsOf(stage.tools, 'M killed')).toBe(1);
    expect(await countedFacts(stage, request.operationId)).toMatchObject({ 'request.opened': 1, 'grant.issued': 1 });
  });

  /** Waits until a turn was told by so many gateways that somebody is there. */
  async function collectedBy(times: number, workflowId: string): Promise<void> {
    const handle = stage.holdpoint.client.workflow.getHandle(workflowId);
    for (;;) {
      const { events } = await handle.fetchHistory();
      const updates = (events ?? []).filter((event) => event.workflowExecutionUpdateCompletedEventAttributes);
      if (updates.length >= times) return;
      await delay(20);
    }
  }
});
