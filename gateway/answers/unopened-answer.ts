import type { Refusal } from '../../core/errors';
import type { JsonObject } from '../../core/json';
import { approvalMeta, withApprovalMeta, type ProtectedCall } from './approval-meta';
import { standingAnswer } from './pending-answer';

/**
 * The CallToolResult of a call whose approval request could not be put on record in time: it may still come on record,
 * and nothing runs before somebody has approved it and its client has called again.
 */
export function unrecordedAnswer(call: ProtectedCall, retryAfterMs: number): JsonObject {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  const message = `NOT EXECUTED: this call needs to be put on record first, and no worker has done that yet. Nothing has been done; this is neither a success nor a failure. Call the same tool again with exactly the same arguments, not before ${seconds} seconds from now; do not repeat it in a loop, do not try another way to the same effect. (${call.operationId})`;
  return standingAnswer(call, message, { status: 'pending', form: 'pending', retryAfterMs });
}

/** The CallToolResult of a call that may have been sent, while nobody can read where it stands. */
export function unreadResult(
  call: ProtectedCall,
  { retryAfterMs, detail }: { readonly retryAfterMs: number; readonly detail: string },
): JsonObject {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  const message = `NOT KNOWN: where this call stands cannot be read now; it may wait for approval, or have been carried out. This is neither a success nor a failure. ${detail} Call the same tool again with exactly the same arguments, not before ${seconds} seconds from now: it is not run a second time. Do not try another way to the same effect. (${call.operationId})`;
  return standingAnswer(call, message, { status: 'running', form: 'running', retryAfterMs });
}

/** The CallToolResult of a call that is refused before it is an operation: nobody is asked, nothing is on record. */
export function refusedResult({ code, detail }: Refusal): JsonObject {
  const call = { operationId: '', revision: null, digest: null, rule: null, reviewUrl: null, hasOutputSchema: false };
  const content = [{ type: 'text', text: `REFUSED: not executed. ${detail} [${code}]` }];
  return withApprovalMeta({ content, isError: true }, approvalMeta(call, { status: 'refused', code }));
}
