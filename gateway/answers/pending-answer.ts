import type { CallState } from '../../core/call-state';
import type { JsonObject } from '../../core/json';
import { approvalMeta, withApprovalMeta } from './approval-meta';
import type { ApprovalDetails, ProtectedCall } from './approval-meta';
import { pendingForm } from './pending-form';
import type { PendingForm } from './pending-form';
import { allowedText, pendingText, runningText } from './pending-text';
import type { Waiting } from './pending-text';

export interface PendingCall extends Waiting {
  readonly state: CallState & { readonly status: 'pending' };
  readonly hasOutputSchema: boolean;
}

/** The CallToolResult of a call that waits for people. No error: a model would try another way. */
export function pendingAnswer({ state, retryAfterMs, reviewUrl, hasOutputSchema }: PendingCall): JsonObject {
  const { operationId, revision, bindingDigest, ask, deadlineAtMs } = state.request;
  const call = { operationId, revision, digest: bindingDigest, rule: ask.rule, reviewUrl, hasOutputSchema };
  const message = pendingText(state.request, { retryAfterMs, reviewUrl });
  return standingAnswer(call, message, { status: 'pending', form: 'pending', deadlineAtMs, retryAfterMs });
}

/**
 * The CallToolResult of a call that was allowed, but that nobody collected while it could run: it runs when the client
 * calls again.
 */
export function allowedAnswer(call: ProtectedCall, retryAfterMs: number): JsonObject {
  const message = allowedText(call.operationId, retryAfterMs);
  return standingAnswer(call, message, { status: 'allowed', form: 'allowed', retryAfterMs });
}

/** The CallToolResult of a call that is being carried out, or was sent and is looked up: the outcome is not known yet. */
export function runningAnswer(call: ProtectedCall, retryAfterMs: number): JsonObject {
  const message = runningText(call.operationId, retryAfterMs);
  return standingAnswer(call, message, { status: 'running', form: 'running', retryAfterMs });
}

/**
 * A result that says where a call stands instead of what its tool answered: in text, and for a tool with an output
 * schema in the pending form too, since its clients expect structured content and some show nothing else.
 */
export function standingAnswer(
  call: ProtectedCall,
  message: string,
  { form, ...details }: ApprovalDetails & { readonly form: PendingForm['status'] },
): JsonObject {
  const { operationId, hasOutputSchema } = call;
  const content = [{ type: 'text', text: message }];
  const structured = hasOutputSchema ? { structuredContent: pendingForm({ status: form, message, operationId }) } : {};
  return withApprovalMeta({ content, ...structured, isError: false }, approvalMeta(call, details));
}
