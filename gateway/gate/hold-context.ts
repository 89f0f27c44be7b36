import type { Client } from '@temporalio/client';
import type { Dependencies } from '../../activities/dependencies';
import type { Holds } from './holds';
import type { SessionTools } from './session-tools';

export interface GateOptions {
  readonly deps: Dependencies;
  /** Temporal's client. */
  readonly client: Client;
  /** Where turns run. */
  readonly taskQueue: string;
  /** How long a call waits for its decision before the pending answer, by client and call. */
  readonly waitForMs: (caller: { readonly clientName: string | null; readonly wantsProgress: boolean }) => number;
  /** The page of a request in the console; null where there is none. */
  readonly reviewUrl: (operationId: string) => string | null;
}

/** The parts of a gateway that its held calls share. */
export interface HoldContext extends GateOptions {
  /** The task queue of this gateway alone. */
  readonly ownQueue: string;
  readonly holds: Holds;
  readonly tools: SessionTools;
}
