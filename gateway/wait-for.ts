import type { GateOptions } from './gate/hold-context';

/** Clients that say how a call goes on stay longer: for these an open call is no sign of a fault. */
const WITH_PROGRESS_MS = 30_000;

/**
 * How long a protected call waits for its decision before the client is told that it is pending: as set; longer for a
 * client that asked for progress, since the SDKs then count from the latest sign of it.
 */
export function waitForMsOf(setMs: number): GateOptions['waitForMs'] {
  return ({ wantsProgress }) => (wantsProgress ? Math.max(setMs, WITH_PROGRESS_MS) : setMs);
}
