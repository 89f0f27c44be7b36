import type { ApprovalRequest } from '../../core/request';

/** What the texts say of waiting: when to come back, and where reviewers look. */
export interface Waiting {
  readonly retryAfterMs: number;
  readonly reviewUrl: string | null;
}

/**
 * What a model is told of a call that waits for people. It is words of Holdpoint alone: nothing of the arguments, the
 * tool or its server, which could carry instructions.
 */
export function pendingText(request: ApprovalRequest, { retryAfterMs, reviewUrl }: Waiting): string {
  const { operationId, revision, shortId, deadlineAtMs } = request;
  const again = revision > 1 ? ' What it concerns has changed since it was first asked, so it is reviewed anew.' : '';
  const place = reviewUrl === null ? '' : `, and reviewers decide at ${reviewUrl}`;
  return [
    `NOT EXECUTED: this call waits for approval by a person. Nothing has been done; this is neither a success nor a failure.${again}`,
    `Tell the user that it waits: its short id is ${shortId}${place}.`,
    `To go on, call the same tool again with exactly the same arguments, not before ${secondsOf(retryAfterMs)} from now: that continues this request and opens no other.`,
    'Until then do something else or stop. Do not repeat it in a loop, do not change its arguments, do not try another way to the same effect.',
    `Reviewers have until ${timeOf(deadlineAtMs)}. If they have not approved it by then, it expires and is not executed: silence is no consent. (${operationId})`,
  ].join(' ');
}

/** What a model is told of a call that was let through and waits for its client to be there. */
export function allowedText(operationId: string, retryAfterMs: number): string {
  return `NOT EXECUTED YET: this call was approved, but it runs only while you wait for its result. Call the same tool again with exactly the same arguments, ${soonest(retryAfterMs)}: then it runs once, and nobody is asked again. Do not try another way to the same effect. (${operationId})`;
}

/** What a model is told of a call that was let through and may have been sent. */
export function runningText(operationId: string, retryAfterMs: number): string {
  return `IN PROGRESS: this call was let through and is being carried out. Its outcome is not known yet; this is neither a success nor a failure. To get its result, call the same tool again with exactly the same arguments, ${soonest(retryAfterMs)}: it is not run a second time. Do not repeat it in a loop, do not try another way to the same effect. (${operationId})`;
}

/** What a model is told beside a result that was given before. */
export function replayText(operationId: string, replayEndsAtMs: number | null): string {
  const later = replayEndsAtMs === null ? '' : `, or the same call after ${timeOf(replayEndsAtMs)}`;
  return `NOT RUN AGAIN: this is the result of the identical call that was executed before (${operationId}). If a new run is really wanted, it takes a new key in _meta["dev.holdpoint/operation"] of the call${later}; it is then a call of its own, and approval may be needed anew.`;
}

function soonest(retryAfterMs: number): string {
  return retryAfterMs <= 0 ? 'now' : `not before ${secondsOf(retryAfterMs)} from now`;
}

function secondsOf(durationMs: number): string {
  const seconds = Math.max(1, Math.ceil(durationMs / 1_000));
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
}

/** In UTC, to the second, rounded down: a deadline is never shown later than it is. */
function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}
