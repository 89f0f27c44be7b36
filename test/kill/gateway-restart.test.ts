import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listRequests } from '../../ledger/queries';
import type { Child } from '../../worker/child-process';
import { startTemporalServer, type TemporalServer } from '../../worker/temporal-server';
import { eventually } from '../support/eventually';
import { applyKillPolicy } from '../support/gateway-kill-policy';
import {
  allow,
  countedFacts,
  endGatewayProcesses,
  startGatewayProcess,
  toldUntilEnd,
} from '../support/gateway-kill-stage';
import { effectsOf, migration } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { startScript } from '../support/stage';
import type { WorkerTold } from '../support/worker-child';

const SQLS = ['R one', 'R two', 'R three'] as const;

let folder: string;
let server: TemporalServer;
let address: string;
let stage: GatewayStage;
const workers: Child[] = [];

async function startServer(port?: number): Promise<void> {
  const started = await startTemporalServer({
    binary: process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] ?? '',
    namespace: 'default',
    dbFilename: join(folder, 'temporal.db'),
    log: () => undefined,
    ...(port === undefined ? {} : { port }),
  });
  if (!started.ok) throw new Error(started.detail);
  ({ server } = started);
  ({ address } = server);
}

async function startWorkerProcess(): Promise<Child> {
  const told: WorkerTold = {
    address,
    taskQueue: stage.taskQueue,
    ledgerUrl: stage.ledgerUrl,
    bundlePath: process.env['HOLDPOINT_TEST_BUNDLE'] ?? '',
    secretsKey: Buffer.from(stage.deps.secretsKey).toString('hex'),
  };
  const worker = await startScript('worker-child.ts', told);
  workers.push(worker);
  if ((await worker.waitForLine(/^ready$/, 30_000)) === undefined) throw new Error(worker.recentOutput());
  return worker;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-restart-'));
  await startServer();
  stage = await startGatewayStage({ address, worker: false });
  await applyKillPolicy(stage);
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await Promise.all(workers.map((worker) => worker.kill9()));
  await stage.close();
  await server.kill9();
  await rm(folder, { recursive: true, force: true });
});

test('worker, gateway and Temporal server killed and started again: the same three requests, and an allow runs once the client has called again [DUR-01]', async () => {
  const [worker, held] = await Promise.all([startWorkerProcess(), startGatewayProcess(stage)]);
  const client = await stage.client({ gateway: held.gateway });
  const calls = SQLS.map((sql) => callTool(client, 'apply_migration', migration(sql)).catch(() => 'no answer'));
  const listed = await eventually(async () => {
    const open = await listRequests(stage.store.db);
    expect(open).toHaveLength(3);
    return open;
  }, 30_000);
  await Promise.all([worker.kill9(), held.child.kill9(), server.kill9()]);
  expect(await Promise.all(calls)).toEqual(['no answer', 'no answer', 'no answer']);
  expect(await listRequests(stage.store.db)).toEqual(listed);

  await startServer(Number(address.split(':')[1]));
  const port = Number(new URL(held.gateway.url).port);
  await Promise.all([startWorkerProcess(), startGatewayProcess(stage, { edge: { port, waitForMs: 500 } })]);
  expect(await listRequests(stage.store.db)).toEqual(listed);
  const [one, two, three] = SQLS.map((sql) => {
    const found = listed.find(({ request }) => request.arguments['sql'] === sql);
    if (found === undefined) throw new Error(`${sql} is gone`);
    return found.request;
  });
  if (one === undefined || two === undefined || three === undefined) throw new Error('there are three');

  await eventually(() => allow(stage, one), 30_000);
  expect(stage.tools.runs).toEqual([]);
  for (const request of [two, three]) {
    const pending = await callTool(client, 'apply_migration', request.arguments);
    expect(approvalOf(pending)).toMatchObject({ status: 'pending', operationId: request.operationId, revision: 1 });
  }
  await allow(stage, two);
  await stage.decide(three, 'deny');
  const told = [];
  for (const sql of SQLS) told.push(await toldUntilEnd(client, 'apply_migration', migration(sql)));
  expect(told.map(({ status }) => status)).toEqual(['approved', 'approved', 'denied']);
  expect(told.map(({ end }) => approvalOf(end).operationId)).toEqual([one, two, three].map((each) => each.operationId));
  expect(SQLS.map((sql) => effectsOf(stage.tools, sql))).toEqual([1, 1, 0]);
  for (const { operationId } of [one, two, three]) {
    expect(await countedFacts(stage, operationId)).toMatchObject({ 'request.opened': 1, 'decision.recorded': 1 });
  }
}, 120_000);
