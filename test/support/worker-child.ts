import { generatePermitKey } from '../../activities/permit-key';
import type { RunStep } from '../../activities/dependencies';
import { openStore } from '../../ledger/open-store';
import { openDependencies } from '../../worker/open-dependencies';
import { startWorker } from '../../worker/start-worker';
import { recordedLog } from './recorded-log';

/** What a worker process is told, as JSON in its only argument. */
export interface WorkerTold {
  readonly address: string;
  readonly taskQueue: string;
  readonly ledgerUrl: string;
  readonly bundlePath: string;
  /** Hexadecimal; all workers of a ledger share it. */
  readonly secretsKey: string;
  /** Overrides of Temporal's own settings. */
  readonly worker?: { readonly maxCachedWorkflows?: number; readonly maxConcurrentWorkflowTaskPolls?: number };
  /** The first time that a tool reaches `step`: SIGKILL as a crash, SIGSTOP as a machine that stands still. */
  readonly at?: { readonly step: RunStep; readonly signal: 'SIGKILL' | 'SIGSTOP' };
}

/** A worker in a process of its own. It prints `ready`, and the step at which it is about to be killed or stopped. */
async function main(told: WorkerTold): Promise<void> {
  const log = recordedLog();
  const store = await openStore(told.ledgerUrl, log);
  let armed = told.at;
  const onStep = async (step: RunStep, operationId: string): Promise<void> => {
    if (armed?.step !== step) return;
    const { signal } = armed;
    armed = undefined;
    console.log(`${signal} at ${step} of ${operationId}`);
    process.kill(process.pid, signal);
    // A stopped process goes on here; a killed one never gets so far, however late the signal comes.
    if (signal === 'SIGKILL') await new Promise(() => undefined);
  };
  const deps = openDependencies({
    store,
    permitKey: await generatePermitKey(),
    secretsKey: Buffer.from(told.secretsKey, 'hex'),
    listingAgeMs: 0,
    defaultTrust: 'namespace',
    log,
    env: process.env,
    onStep,
  });
  const { address, taskQueue, bundlePath } = told;
  const options = { address, namespace: 'default', taskQueue, deps, bundlePath };
  const worker = await startWorker({ ...options, worker: { shutdownGraceTime: '100ms', ...told.worker } });
  process.once('SIGTERM', () => void worker.stop());
  console.log('ready');
  await worker.ended;
  await deps.servers.closeAll();
  await store.close();
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '{}') as WorkerTold);
