import { memberOf } from '../core/member';

/** The key under which the gateway states the approval of a call in a result's `_meta`. */
const APPROVAL_META_KEY = 'dev.holdpoint/approval';

/** What a pending result says: nothing has been executed yet. */
export interface PendingApproval {
  readonly operationId: string;
  readonly revision: number;
  readonly retryAfterMs: number;
  readonly deadlineAtMs: number | null;
  readonly reviewUrl: string | null;
}

/**
 * The approval that a tool result waits for, or null where the result is a real one. Pending is neither success nor
 * failure: a result for which this is not null says nothing of the tool.
 * @param result an MCP CallToolResult.
 */
export function pendingApproval(result: unknown): PendingApproval | null {
  const approval = memberOf(memberOf(result, '_meta'), APPROVAL_META_KEY);
  if (memberOf(approval, 'status') !== 'pending') return null;
  return {
    operationId: text(approval, 'operationId') ?? '',
    revision: number(approval, 'revision') ?? 1,
    retryAfterMs: number(approval, 'retryAfterMs') ?? 5_000,
    deadlineAtMs: number(approval, 'deadlineAtMs'),
    reviewUrl: text(approval, 'reviewUrl'),
  };
}

function text(value: unknown, name: string): string | null {
  const found = memberOf(value, name);
  return typeof found === 'string' ? found : null;
}

function number(value: unknown, name: string): number | null {
  const found = memberOf(value, name);
  return typeof found === 'number' ? found : null;
}
