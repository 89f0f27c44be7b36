import type { ToolServers } from './tool-servers';
import type { PermitKey } from './permit-key';
import type { Ledger } from '../ledger/ledger';
import type { Log } from '../ledger/log';

/** The steps of running a tool at which a test may stop or kill the process. */
export type RunStep = 'beforeTransaction' | 'afterTransaction' | 'afterSend' | 'beforeCommit';

/** What the activities work with; `worker/` builds the real ones. */
export interface Dependencies {
  readonly ledger: Ledger;
  readonly servers: ToolServers;
  readonly permitKey: PermitKey;
  /** Keys the tokens that stand for secrets; 16 bytes or more, kept outside the ledger. */
  readonly secretsKey: Uint8Array;
  readonly resolveSecret: (name: string) => string | undefined;
  readonly log: Log;
  /** How old a listing of tools may be when a request is opened: 1 s by default. */
  readonly listingAgeMs?: number;
  readonly onStep?: (step: RunStep, operationId: string) => Promise<void>;
}
