import { REPLAY_MS } from '../../core/gateway-call';
import type { CallState } from '../../core/call-state';
import type { Refusal } from '../../core/errors';
import type { JsonObject } from '../../core/json';
import type { CallOutcome } from '../../core/outcome';
import { unreachable } from '../../core/unreachable';
import type { ClaimedCall } from '../../ledger/commands/gateway-calls';
import { endAnswer } from '../answers/end-answer';
import { allowedAnswer, pendingAnswer, runningAnswer } from '../answers/pending-answer';
import { refusedResult, unreadResult, unrecordedAnswer } from '../answers/unopened-answer';
import type { GateAnswer } from '../ports';

/** When a client should come back for a call that waits for people, and for one that only has to be collected. */
const COME_BACK_MS = 5_000;
const SOON_MS = 1_000;

export interface AnswerFacts {
  readonly claim: ClaimedCall;
  readonly hasOutputSchema: boolean;
  readonly reviewUrl: string | null;
  /** Called once the end of the call was written to the client. */
  readonly onDelivered: () => void;
}

/** What a client is told of its call; null: nothing is on record of it yet. */
export function answerOf(state: CallState | null, facts: AnswerFacts): GateAnswer {
  const { claim, hasOutputSchema, reviewUrl } = facts;
  const { revision = null, digest = null, rule = null } = claim.asked ?? {};
  const call = { operationId: claim.operationId, revision, digest, rule, reviewUrl, hasOutputSchema };
  switch (state?.status) {
    case undefined:
    case 'proposed':
      return standing(unrecordedAnswer(call, COME_BACK_MS));
    case 'pending':
      return standing(pendingAnswer({ state, retryAfterMs: COME_BACK_MS, reviewUrl, hasOutputSchema }));
    case 'allowed':
      return standing(allowedAnswer(call, SOON_MS));
    case 'dispatched':
      return standing(runningAnswer(call, COME_BACK_MS));
    case 'ended':
      // An unknown outcome is no end that could be given away: what is found out later still has to be told.
      if (state.end.outcome === 'unknown') return standing(ended(call, state.end, claim));
      return { kind: 'result', result: ended(call, state.end, claim), delivered: facts.onDelivered };
    default:
      return unreachable(state);
  }
}

function ended(
  call: Omit<Parameters<typeof endAnswer>[0], 'end' | 'delivered' | 'replayEndsAtMs'>,
  end: CallOutcome,
  claim: ClaimedCall,
): JsonObject {
  const { deliveredAtMs } = claim;
  const replayEndsAtMs = deliveredAtMs === null ? null : deliveredAtMs + REPLAY_MS;
  return endAnswer({ ...call, end, delivered: deliveredAtMs !== null, replayEndsAtMs });
}

/** Where the ledger cannot be read of a call that may have been sent. */
export function unreadAnswer(
  { operationId, asked }: ClaimedCall,
  { hasOutputSchema, detail }: { readonly hasOutputSchema: boolean; readonly detail: string },
): GateAnswer {
  const { revision = null, digest = null, rule = null } = asked ?? {};
  const call = { operationId, revision, digest, rule, reviewUrl: null, hasOutputSchema };
  return standing(unreadResult(call, { retryAfterMs: COME_BACK_MS, detail }));
}

/** The refusal of a call that is no operation: nothing was asked of anybody. */
export function refusedAnswer(why: Refusal): GateAnswer {
  return standing(refusedResult(why));
}

function standing(result: JsonObject): GateAnswer {
  return { kind: 'result', result, delivered: () => undefined };
}
