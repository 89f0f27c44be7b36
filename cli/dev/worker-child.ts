import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild, type Child } from '../../worker/child-process';
import { CliFailure } from '../failure';
import type { DevFile } from './dev-file';
import { logFile } from './log-file';

export interface WorkerPlace {
  readonly stateDir: string;
  readonly dev: DevFile;
}

const READY_MS = 30_000;

/** The user's own Temporal settings are for another server. */
const FOREIGN = /^TEMPORAL_/;

/**
 * Runs `holdpoint worker` as a process of its own, and waits until it polls. Something else may have taken its port.
 * @param onStarted gets the process as soon as there is one, so that it can be stopped while it starts.
 */
export async function startWorkerChild(
  place: WorkerPlace,
  onStarted: (child: Child) => void,
): Promise<Child | 'portTaken'> {
  const { dev } = place;
  const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const started = await startChild({
    command: process.execPath,
    args: [...process.execArgv, require.resolve('../main'), 'worker'],
    env: {
      ...Object.fromEntries(own),
      TEMPORAL_ADDRESS: dev.temporal.address,
      TEMPORAL_NAMESPACE: dev.temporal.namespace,
      TEMPORAL_CONFIG_FILE: await emptyProfile(place.stateDir),
      HOLDPOINT_TASK_QUEUE: dev.taskQueue,
      HOLDPOINT_LEDGER_URL: dev.ledgerUrl,
      HOLDPOINT_PERMIT_KEY_FILE: dev.permitKeyFile,
      HOLDPOINT_HEALTH_PORT: new URL(dev.healthUrl).port,
      HOLDPOINT_TRUST: 'namespace',
      // The other commands of this folder read and write payloads as they are.
      HOLDPOINT_PAYLOAD_KEY: '',
      HOLDPOINT_SECRETS_KEY: '',
    },
    onLine: logFile(join(place.stateDir, 'worker.log')),
  });
  if (!started.ok) throw new CliFailure('unreachable', `The worker: ${started.detail}.`);
  const { child } = started;
  onStarted(child);
  if ((await child.waitForLine(/"worker\.ready"/, READY_MS)) !== undefined) return child;
  await child.stop();
  if (child.recentOutput().includes('[PORT_TAKEN]')) return 'portTaken';
  throw new CliFailure('unreachable', `The worker did not start:\n${child.recentOutput()}`);
}

async function emptyProfile(stateDir: string): Promise<string> {
  const file = join(stateDir, 'temporal-profile.toml');
  await writeFile(file, '[profile.default]\n');
  return file;
}
