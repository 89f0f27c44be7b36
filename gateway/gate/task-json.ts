import type { CallState } from '../../core/call-state';
import type { CallOutcome } from '../../core/outcome';
import type { JsonObject } from '../../core/json';

/** Five seconds: people do not decide faster for being asked more often. */
const POLL_MS = 5_000;

export interface TaskTimes {
  readonly taskId: string;
  readonly createdAtMs: number;
  readonly ttlMs: number;
  readonly cancelled: boolean;
}

/** A call as a task of MCP 2025-11-25. Waiting for people is `working`: the client itself has nothing to answer. */
export function taskJson(state: CallState | null, { taskId, createdAtMs, ttlMs, cancelled }: TaskTimes): JsonObject {
  return {
    taskId,
    ...(cancelled ? { status: 'cancelled', statusMessage: 'WITHDRAWN: not executed' } : statusOf(state)),
    createdAt: new Date(createdAtMs).toISOString(),
    lastUpdatedAt: new Date().toISOString(),
    ttl: ttlMs,
    pollInterval: POLL_MS,
  };
}

function statusOf(state: CallState | null): { readonly status: string; readonly statusMessage: string } {
  switch (state?.status) {
    case 'pending':
      return { status: 'working', statusMessage: `NOT EXECUTED: waits for approval (${state.request.shortId})` };
    case 'ended':
      return endOf(state.end);
    case 'dispatched':
      return { status: 'working', statusMessage: 'IN PROGRESS: its outcome is not known yet' };
    case 'allowed':
      return { status: 'working', statusMessage: 'NOT EXECUTED YET: approved, and about to run' };
    default:
      return { status: 'working', statusMessage: 'NOT EXECUTED: it is being put on record' };
  }
}

/** A tool's own error is a failed task too (MCP 2025-11-25, tasks). */
function endOf(end: CallOutcome): { readonly status: string; readonly statusMessage: string } {
  if (end.outcome !== 'executed') return { status: 'failed', statusMessage: end.outcome.toUpperCase() };
  return end.result?.isError === true
    ? { status: 'failed', statusMessage: 'EXECUTED, and the tool reports an error' }
    : { status: 'completed', statusMessage: 'EXECUTED' };
}
