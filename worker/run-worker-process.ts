import { loadPermitKey, jwksOf } from '../activities/permit-key';
import { refusal, type Refusal } from '../core/errors';
import { secretsKeyFrom } from './derived-key';
import { createCheckpointer } from '../ledger/checkpointer';
import { LedgerError, reasonOf } from '../ledger/ledger-error';
import type { Log } from '../ledger/log';
import { readEpoch } from '../ledger/meta';
import { openStore } from '../ledger/open-store';
import type { Store } from '../ledger/transaction';
import { BUNDLE_PATH } from './build-bundle';
import { collectSooner } from './collect-sooner';
import { startHealthServer } from './health-server';
import { noticeEndpoints } from './notify/notice-endpoints';
import { openDependencies } from './open-dependencies';
import { startOutboxRelay, type OutboxRelay } from './outbox-relay';
import { startWorker, type RunningWorker } from './start-worker';
import type { WorkerSettings } from './worker-settings';

export interface WorkerProcess {
  readonly healthUrl: string;
  readonly policyVersion: number;
  /** Settles when the worker has ended; rejects where it failed. */
  readonly ended: Promise<void>;
  /** Takes no new work, waits for the tools that run, then closes everything in order. Safe to call twice. */
  stop(): Promise<void>;
}

export type StartedProcess =
  { readonly ok: true; readonly process: WorkerProcess } | ({ readonly ok: false } & Refusal);

interface Starting {
  readonly settings: WorkerSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Path of the workflow code; that of this build by default. */
  readonly bundlePath?: string;
}

/**
 * Everything that one worker process runs: Temporal worker with its sweeper, outbox relay, audit checkpointer, health
 * server. What is missing (key, ledger, policy, port, Temporal) is answered as a refusal, and nothing is left open then.
 */
export async function startWorkerProcess(starting: Starting): Promise<StartedProcess> {
  collectSooner();
  const opened: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    const result = await open(starting, opened);
    if (result.ok) return { ok: true, process: { ...result.process, stop: once(closeAll) } };
    await closeAll();
    return result;
  } catch (error) {
    await closeAll();
    if (error instanceof LedgerError) return { ok: false, code: error.code, detail: error.message };
    throw error;
  }
}

type Opened = { readonly ok: true; readonly process: Omit<WorkerProcess, 'stop'> } | ({ readonly ok: false } & Refusal);

async function open(
  { settings, env, log, bundlePath = BUNDLE_PATH }: Starting,
  opened: (() => Promise<void>)[],
): Promise<Opened> {
  const permitKey = await loadPermitKey(settings.permitKeyFile);
  if (!permitKey.ok) return permitKey;
  const store = await openStore(settings.ledgerUrl, log);
  opened.push(() => store.close());
  const secretsKey = settings.secretsKey ?? secretsKeyFrom(permitKey.key);
  const deps = openDependencies({ ...settings, store, permitKey: permitKey.key, secretsKey, log, env });
  opened.push(() => deps.servers.closeAll());
  const policy = await deps.ledger.activePolicy();
  if (policy === null) return { ok: false, ...refusal('NO_POLICY') };
  const running: { worker: RunningWorker | null } = { worker: null };
  const healthy = async (): Promise<boolean> => {
    await readEpoch(store.db);
    return running.worker?.state() === 'RUNNING';
  };
  const health = await startHealthServer({ ...settings.health, healthy, jwks: jwksOf(permitKey.key) }).catch(reasonOf);
  if (typeof health === 'string')
    return { ok: false, ...refusal('PORT_TAKEN', { port: settings.health.port, detail: health }) };
  opened.push(() => health.close());
  // Closed in the reverse order, so that the last checkpoint is still sent out.
  const relay = startRelay(settings, { store, log });
  opened.push(() => relay.stop());
  const checkpointer = createCheckpointer({ store, key: permitKey.key.privateKey, log });
  opened.push(() => checkpointer.stop());
  const { address, namespace, options } = settings.temporal;
  const worker = await startWorker({
    ...settings,
    address,
    namespace,
    connectionOptions: options,
    deps,
    bundlePath,
  }).catch((error: unknown) => {
    if (error instanceof LedgerError) throw error;
    return reasonOf(error);
  });
  if (typeof worker === 'string') {
    return {
      ok: false,
      ...refusal('TEMPORAL_UNREACHABLE', { detail: `${address}, namespace ${namespace}: ${worker}` }),
    };
  }
  running.worker = worker;
  opened.push(() => worker.stop());
  return { ok: true, process: { healthUrl: health.url, policyVersion: policy.version, ended: worker.ended } };
}

function startRelay(
  { webhooks, notify }: WorkerSettings,
  at: { readonly store: Store; readonly log: Log },
): OutboxRelay {
  const notices = notify === undefined ? [] : noticeEndpoints({ notify, ...at });
  return startOutboxRelay({ ...at, endpoints: webhooks, notices });
}

function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => (closing ??= close());
}
