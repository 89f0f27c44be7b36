import { memberOf } from '../core/member';

/** The key under which the gateway states the approval of a call in a result's `_meta`. */
export const APPROVAL_META_KEY = 'dev.holdpoint/approval';

const STATUSES = ['pending', 'allowed', 'running'] as const;

/** What a pending result says. Null where the result does not say it: a client may have dropped its `_meta`. */
export interface PendingApproval {
  /**
   * `pending`: people are asked, nothing has been executed. `allowed`: not executed yet, the next identical call runs
   * it. `running`: it may have been sent, and its outcome is not known yet.
   */
  readonly status: (typeof STATUSES)[number];
  readonly operationId: string;
  readonly revision: number | null;
  /** When to make the identical call again; 5 s where the result does not say it. */
  readonly retryAfterMs: number;
  readonly deadlineAtMs: number | null;
  readonly reviewUrl: string | null;
}

/**
 * The approval that a tool result waits for, or null where the result is a real one or an end. Pending is neither
 * success nor failure: a result for which this is not null says nothing of the tool.
 * It is read from `_meta`; from the pending form in `structuredContent` only where `_meta` has nothing of Holdpoint.
 * @param result an MCP CallToolResult.
 */
export function pendingApproval(result: unknown): PendingApproval | null {
  const approval = memberOf(memberOf(result, '_meta'), APPROVAL_META_KEY);
  const said = approval === undefined ? formOf(result) : approval;
  const status = STATUSES.find((known) => known === memberOf(said, 'status'));
  if (status === undefined) return null;
  return {
    status,
    operationId: text(said, 'operationId') ?? '',
    revision: number(said, 'revision'),
    retryAfterMs: number(said, 'retryAfterMs') ?? 5_000,
    deadlineAtMs: number(said, 'deadlineAtMs'),
    reviewUrl: text(said, 'reviewUrl'),
  };
}

/** The pending form to the letter, and nothing else beside it: a tool's own data may well have a member of that name. */
function formOf(result: unknown): unknown {
  const structured = memberOf(result, 'structuredContent');
  const form = memberOf(structured, 'holdpoint');
  if (memberOf(result, 'isError') === true) return undefined;
  if (namesOf(structured) !== 'holdpoint' || namesOf(form) !== 'message,operationId,status') return undefined;
  if (text(form, 'message') === null) return undefined;
  return text(form, 'operationId')?.startsWith('op_') === true ? form : undefined;
}

function namesOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? Object.keys(value).sort().join() : '';
}

function text(value: unknown, name: string): string | null {
  const found = memberOf(value, name);
  return typeof found === 'string' ? found : null;
}

function number(value: unknown, name: string): number | null {
  const found = memberOf(value, name);
  return typeof found === 'number' ? found : null;
}
