import { isNativeError } from 'node:util/types';
import { WorkflowFailedError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { HoldpointError, holdpointError } from './errors';

/**
 * gRPC status codes CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION (the turn's worker fails at it,
 * and another may go on), UNAVAILABLE.
 */
const NO_ANSWER: readonly number[] = [1, 4, 8, 9, 14];

/** Whether a call to Temporal failed for want of an answer. */
export function isNoAnswer(error: unknown): boolean {
  for (let at = error; isNativeError(at); at = at.cause)
    if (at.name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  const status = statusOf(error);
  return status !== null && NO_ANSWER.includes(status.code);
}

/** Runs what a caller asked of a turn: what Temporal's own client throws comes out as a HoldpointError. */
export async function typed<T>(turn: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw temporalError(error, turn);
  }
}

/** The HoldpointError for what Temporal's own client threw; any other error as it is. */
export function temporalError(error: unknown, turn: string): unknown {
  if (error instanceof HoldpointError) return error;
  if (error instanceof WorkflowNotFoundError) return holdpointError('TURN_NOT_FOUND', { turn }, error);
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError) {
    return holdpointError('TURN_ENDED_EARLY', { turn, detail: String(error.cause?.message) }, error);
  }
  if (error instanceof NamespaceNotFoundError) {
    return holdpointError('TEMPORAL_REFUSED', { detail: `it has no namespace ${error.namespace}` }, error);
  }
  const status = statusOf(error);
  if (status === null) return error;
  return holdpointError(
    isNoAnswer(error) ? 'TEMPORAL_UNREACHABLE' : 'TEMPORAL_REFUSED',
    { detail: status.details },
    error,
  );
}

/** The gRPC status behind an error: the one thing whose code is a number. */
function statusOf(error: unknown): { readonly code: number; readonly details: string } | null {
  for (let at = error; isNativeError(at); at = at.cause) {
    if ('code' in at && typeof at.code === 'number')
      return { code: at.code, details: 'details' in at ? String(at.details) : at.message };
  }
  return null;
}
