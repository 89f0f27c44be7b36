import { createLedger, type Trust } from '../ledger/ledger';
import type { Store } from '../ledger/transaction';
import type { Dependencies } from '../activities/dependencies';
import { createToolServers } from '../activities/tool-servers';

export interface DependencyOptions extends Omit<Dependencies, 'ledger' | 'servers' | 'resolveSecret'> {
  readonly store: Store;
  readonly defaultTrust: Trust;
  readonly env: NodeJS.ProcessEnv;
}

/** The activities' real dependencies on an open store; closing the tool servers is the caller's. */
export function openDependencies({ store, defaultTrust, env, ...given }: DependencyOptions): Dependencies {
  const resolveSecret = (name: string): string | undefined => env[name];
  return {
    ...given,
    ledger: createLedger(store, { defaultTrust }),
    servers: createToolServers({ resolveSecret, log: given.log }),
    resolveSecret,
  };
}
