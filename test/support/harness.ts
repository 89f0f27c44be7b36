import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, IllegalStateError, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { generatePermitKey } from '../../activities/permit-key';
import type { Dependencies, RunStep } from '../../activities/dependencies';
import {
  connect,
  decisionOn as decide,
  type Decision,
  type Holdpoint,
  type Turn,
  type TurnStart,
  type Verdict,
} from '../../client';
import type { ApprovalRequest } from '../../core/request';
import type { Requester } from '../../core/requester';
import { parsePolicyFile } from '../../core/policy-file';
import type { Ledger } from '../../ledger/ledger';
import type { Log } from '../../ledger/log';
import { openStore } from '../../ledger/open-store';
import { openSqliteStore } from '../../ledger/sqlite';
import type { Store } from '../../ledger/transaction';
import { openDependencies } from '../../worker/open-dependencies';
import { startWorker, type RunningWorker } from '../../worker/start-worker';
import { eventually } from './eventually';
import { breakable, type BreakableStore } from './breakable-store';
import { policyText, type PolicyVariant } from './policy-text';
import { startToolServer, type TestToolServer } from './tool-server';

// Once per Jest worker, whose test files share it.
try {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
} catch (error) {
  if (!(error instanceof IllegalStateError)) throw error;
}

export const U1: Requester = { subject: 'u1', agent: 'bot', chain: [] };

/** Longer than by default: a busy machine or a worker that was just killed must not decide a test. */
export const PATIENT = { limitMs: 15_000 } as const;

export interface HarnessOptions {
  readonly policy?: Partial<PolicyVariant>;
  readonly ledgerUrl?: string;
  readonly onStep?: (step: RunStep, operationId: string) => Promise<void>;
  readonly defaultTrust?: 'namespace' | 'signatures';
  /** False: no worker polls until the test starts one. */
  readonly worker?: boolean;
  /** A Temporal server of the test's own; the shared one by default. */
  readonly address?: string;
  /** The worker's payload key; a client takes its own from HOLDPOINT_PAYLOAD_KEY. */
  readonly payloadKey?: string;
  /** The ledger's clock, epoch milliseconds; the machine's by default. Only for a ledger in a file. */
  readonly clock?: () => number;
  /** Other workflow code than that of this checkout. */
  readonly bundlePath?: string;
  /** How old a listing of tools may be when a request is opened; none by default: tests change tools and look at once. */
  readonly listingAgeMs?: number;
}

/** One real worker, one real ledger, one real tool server, against the shared Temporal server. */
export interface Harness {
  readonly tools: TestToolServer;
  readonly store: BreakableStore;
  readonly ledger: Ledger;
  readonly deps: Dependencies;
  readonly holdpoint: Holdpoint;
  readonly taskQueue: string;
  applyPolicy(variant?: Partial<PolicyVariant>): Promise<number>;
  startWorker(): Promise<RunningWorker>;
  start(calls: TurnStart['calls'], more?: { readonly id?: string; readonly requester?: Requester }): Promise<Turn>;
  /** The open requests of a turn, once there are `count`. */
  requests(turn: Turn, count?: number): Promise<readonly ApprovalRequest[]>;
  decide(request: ApprovalRequest, answer: 'allow' | 'deny', more?: Partial<Decision>): Promise<Verdict>;
  facts(operationId?: string): Promise<readonly { readonly kind: string; readonly body: Record<string, unknown> }[]>;
  /** Ids of the events in the outbox about an operation, in order. */
  notices(operationId: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A decision of r1, unless stated otherwise. */
export function decisionOn(request: ApprovalRequest, answer: 'allow' | 'deny', more: Partial<Decision> = {}): Decision {
  return decide(request, { answer, reviewer: 'r1', ...more });
}

function openLedger({ ledgerUrl, clock }: HarnessOptions, { path, log }: { path: string; log: Log }): Promise<Store> {
  if (ledgerUrl !== undefined) return openStore(ledgerUrl, log);
  return openSqliteStore({ path, log, ...(clock === undefined ? {} : { clock }) });
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const address = options.address ?? process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '';
  const bundlePath = options.bundlePath ?? process.env['HOLDPOINT_TEST_BUNDLE'] ?? '';
  const taskQueue = `test-${randomUUID()}`;
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-'));
  const log = pino({ level: process.env['HOLDPOINT_TEST_LOG'] ?? 'silent' });
  const tools = await startToolServer();
  const store = breakable(await openLedger(options, { path: join(folder, 'ledger.db'), log }));
  const deps = openDependencies({
    store,
    permitKey: await generatePermitKey(),
    secretsKey: randomBytes(32),
    listingAgeMs: options.listingAgeMs ?? 0,
    defaultTrust: options.defaultTrust ?? 'namespace',
    log,
    env: process.env,
    ...(options.onStep === undefined ? {} : { onStep: options.onStep }),
  });
  const workers: RunningWorker[] = [];
  const holdpoint = await connect({ address, namespace: 'default', taskQueue });
  const harness: Harness = {
    tools,
    store,
    ledger: deps.ledger,
    deps,
    holdpoint,
    taskQueue,
    applyPolicy: async (variant = options.policy ?? {}) => {
      const text = policyText({ url: tools.url, ...variant });
      const parsed = parsePolicyFile(text, 'policy.yaml');
      if (!parsed.ok)
        throw new Error(
          parsed.problems.map((problem) => `${problem.line}:${problem.column} ${problem.message}`).join('\n'),
        );
      return (await deps.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' }))
        .version;
    },
    startWorker: async () => {
      const worker = await startWorker({
        address,
        namespace: 'default',
        taskQueue,
        deps,
        bundlePath,
        payloadKey: options.payloadKey,
        worker: { shutdownGraceTime: '100ms' },
      });
      workers.push(worker);
      return worker;
    },
    start: (calls, { id = randomUUID(), requester = U1 } = {}) => holdpoint.startTurn({ id, requester, calls }),
    requests: async (turn, count = 1) =>
      eventually(async () => {
        const { requiredActions } = await turn.snapshot();
        if (requiredActions.length < count) throw new Error(`${requiredActions.length} of ${count} requests are open`);
        return requiredActions;
      }),
    decide: (request, answer, more) => holdpoint.decide(request.workflowId, decisionOn(request, answer, more), PATIENT),
    facts: async (operationId) => {
      const rows = await store.db.selectFrom('audit').select(['kind', 'body', 'operation_id']).orderBy('seq').execute();
      const wanted = operationId === undefined ? rows : rows.filter((row) => row.operation_id === operationId);
      return wanted.map((row) => ({ kind: row.kind, body: JSON.parse(row.body) as Record<string, unknown> }));
    },
    notices: async (operationId) => {
      const rows = await store.db
        .selectFrom('outbox')
        .select('event_id')
        .where('event_id', 'like', `${operationId}:%`)
        .orderBy('position')
        .execute();
      return rows.map((row) => row.event_id);
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await holdpoint.close();
      await deps.servers.closeAll();
      await store.close();
      await tools.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await harness.applyPolicy();
  if (options.worker !== false) await harness.startWorker();
  return harness;
}
