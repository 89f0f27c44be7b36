import { isJsonArray, isJsonObject } from '../../core/json';
import type { JsonObject } from '../../core/json';
import type { CallOutcome } from '../../core/outcome';
import { textForModel } from '../../core/outcome-text';
import { unreachable } from '../../core/unreachable';
import { approvalMeta, withApprovalMeta } from './approval-meta';
import type { ApprovalDetails, ProtectedCall } from './approval-meta';
import { standingAnswer } from './pending-answer';
import { replayText } from './pending-text';

type Executed = CallOutcome & { readonly outcome: 'executed' };

export interface EndedCall extends ProtectedCall {
  /** With the tool's whole result: one that is only named cannot be shown. */
  readonly end: CallOutcome;
  /** True where the same end was given to an earlier, identical call. */
  readonly delivered: boolean;
  /** Epoch ms from which an identical call is a new one; null where that is not known. */
  readonly replayEndsAtMs: number | null;
}

/**
 * The CallToolResult of a call that has ended. The tool's own result is passed on as it is, with Holdpoint's key in its
 * `_meta`; every other end is a result with `isError`, never a JSON-RPC error, which the model would not get to read.
 */
export function endAnswer(call: EndedCall): JsonObject {
  const { end, operationId } = call;
  if (end.outcome === 'executed') return executedAnswer(call, end);
  const content = [{ type: 'text', text: textForModel(end, operationId) }];
  return withApprovalMeta({ content, isError: true }, approvalMeta(call, detailsOf(end)));
}

function executedAnswer(call: EndedCall, end: Executed): JsonObject {
  const { approval, result } = end;
  const status = approval === null ? 'executed' : 'approved';
  const details = { status, approval, replayed: call.delivered } as const;
  const asked = approval === null ? call : { ...call, rule: approval.askedRule };
  // What a look-up answers is the evidence of an effect, and no CallToolResult of the tool that was called.
  if (end.evidence !== 'answer') return withoutAnswer(asked, details, { ...end, result: null });
  if (result?.kind === 'inline' && isJsonObject(result.value)) {
    const shown = call.delivered ? withReplayText(result.value, call) : result.value;
    return withApprovalMeta(shown, approvalMeta(asked, details));
  }
  return withoutAnswer(asked, details, end);
}

/**
 * It took effect, but what the tool answered cannot be shown. `isError: true` would spare the output schema, but reads
 * as a failure and invites a repeat of what has happened. So it is no error (but where the tool itself reported one),
 * says in words that it was executed, and keeps the listed schema by the pending form, whose `executed` nobody waits
 * for.
 */
function withoutAnswer(call: ProtectedCall, details: ApprovalDetails, end: Executed): JsonObject {
  const message = textForModel(end, call.operationId);
  const answer = standingAnswer(call, message, { ...details, form: 'executed' });
  return { ...answer, isError: end.result?.isError ?? false };
}

/** Behind the tool's own blocks, because clients read the first one; blocks are bound by no schema. */
function withReplayText(result: JsonObject, { operationId, replayEndsAtMs }: EndedCall): JsonObject {
  const own = result['content'];
  const blocks = own !== undefined && isJsonArray(own) ? own : [];
  return { ...result, content: [...blocks, { type: 'text', text: replayText(operationId, replayEndsAtMs) }] };
}

function detailsOf(end: Exclude<CallOutcome, Executed>): ApprovalDetails {
  switch (end.outcome) {
    case 'failed':
    case 'unknown':
      return { status: end.outcome, approval: end.approval };
    case 'refused':
      return { status: 'refused', code: end.code };
    case 'denied':
    case 'expired':
    case 'withdrawn':
      return { status: end.outcome };
    default:
      return unreachable(end);
  }
}
