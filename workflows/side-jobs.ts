import type { Verdict } from '../core/decision';
import { readResultChunk, recordDecision } from './activity-proxies';
import type { ReadResult, ResultChunk } from './messages';

/** Judges a decision for a turn that has ended. */
export async function lateDecision(input: {
  readonly message: unknown;
  readonly workflowId: string;
}): Promise<Verdict> {
  return (await recordDecision(input)).verdict;
}

/** Reads one chunk of a stored result; null where there is none for this requester. */
export async function readResult(input: ReadResult): Promise<ResultChunk | null> {
  return readResultChunk(input);
}
