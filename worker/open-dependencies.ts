import { createLedger, type Trust } from '../ledger/ledger';
import type { Log } from '../ledger/log';
import type { Store } from '../ledger/transaction';
import type { Dependencies, RunStep } from '../activities/dependencies';
import type { PermitKey } from '../activities/permit-key';
import { createToolServers } from '../activities/tool-servers';

export interface DependencyOptions {
  readonly store: Store;
  readonly permitKey: PermitKey;
  readonly secretsKey: Uint8Array;
  readonly defaultTrust: Trust;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  readonly onStep?: (step: RunStep, operationId: string) => Promise<void>;
}

/** The activities' real dependencies on an open store; closing the tool servers is the caller's. */
export function openDependencies({
  store,
  permitKey,
  secretsKey,
  defaultTrust,
  log,
  env,
  onStep,
}: DependencyOptions): Dependencies {
  const resolveSecret = (name: string): string | undefined => env[name];
  return {
    ledger: createLedger(store, { defaultTrust }),
    servers: createToolServers({ resolveSecret, log }),
    permitKey,
    secretsKey,
    resolveSecret,
    log,
    ...(onStep === undefined ? {} : { onStep }),
  };
}
