import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities';

/** Reads and writes of the ledger and reads at the tools: safe to repeat until the ledger answers. */
const PATIENT = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

export const { openRequests, lookUpOutcome, recordOutcome, recordDecision, withdrawCall, readResultChunk } =
  proxyActivities<Activities>({
    startToCloseTimeout: '2m',
    // A worker that was killed is noticed after this time; one that is only busy has time enough to say so.
    heartbeatTimeout: '10s',
    retry: PATIENT,
  });

/** One attempt: what an attempt without an answer did is looked up, never tried again. Longer than the longest tool time-out. */
export const { runTool } = proxyActivities<Activities>({
  startToCloseTimeout: '70m',
  heartbeatTimeout: '5s',
  retry: { maximumAttempts: 1 },
});

/**
 * In the worker that holds the turn, so that a verdict costs no task of its own. A local activity that retries holds
 * back timers and completion of the turn, and no schedule-to-close time-out stops it: hence few and short attempts. They
 * end themselves after 1 s; the time-out is longer than all three, since that of an earlier attempt ends a later one.
 */
export const judgedHere = proxyLocalActivities<Pick<Activities, 'recordDecision' | 'advanceRequests'>>({
  startToCloseTimeout: '4s',
  retry: { maximumAttempts: 3, initialInterval: '50ms' },
});
