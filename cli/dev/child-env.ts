import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevFile } from './dev-file';

/** What a process of the stack has to know of it. */
export interface ChildPlace {
  readonly stateDir: string;
  readonly dev: DevFile;
}

/** The user's own settings for another Temporal server, for another gateway's clients, and for another console's people. */
const FOREIGN = /^(TEMPORAL|HOLDPOINT_GATEWAY_OAUTH|HOLDPOINT_CONSOLE_OIDC)_/;

/** The environment of a process that works on the stack's own Temporal and ledger, with nothing that leads elsewhere. */
export async function childEnv({ stateDir, dev }: ChildPlace): Promise<NodeJS.ProcessEnv> {
  const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  return {
    ...Object.fromEntries(own),
    TEMPORAL_ADDRESS: dev.temporal.address,
    TEMPORAL_NAMESPACE: dev.temporal.namespace,
    TEMPORAL_CONFIG_FILE: await emptyProfile(stateDir),
    HOLDPOINT_TASK_QUEUE: dev.taskQueue,
    HOLDPOINT_LEDGER_URL: dev.ledgerUrl,
    HOLDPOINT_PERMIT_KEY_FILE: dev.permitKeyFile,
    HOLDPOINT_HEALTH_PORT: new URL(dev.healthUrl).port,
    HOLDPOINT_TRUST: 'namespace',
    // The other commands of this folder read and write payloads as they are.
    HOLDPOINT_PAYLOAD_KEY: '',
    HOLDPOINT_SECRETS_KEY: '',
  };
}

async function emptyProfile(stateDir: string): Promise<string> {
  const file = join(stateDir, 'temporal-profile.toml');
  await writeFile(file, '[profile.default]\n');
  return file;
}
