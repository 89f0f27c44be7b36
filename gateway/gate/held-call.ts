import type { ToolDefinition } from '../../activities/tool-server';
import type { CallState } from '../../core/call-state';
import type { CallOutcome } from '../../core/outcome';
import { refusal } from '../../core/errors';
import type { Active } from '../../ledger/ledger';
import type { ClaimedCall } from '../../ledger/commands/gateway-calls';
import { wholeResultOf } from '../../ledger/rows';
import type { GateAnswer, IncomingCall } from '../ports';
import { answerOf, refusedAnswer } from './call-answer';
import { callKey } from './call-key';
import { collectFor } from './collect';
import type { GateContext } from './gate';
import { callContext } from './session-context';
import type { ToolCallParams } from './tool-call';
import { waitForEnd } from './wait-for-end';

/** One client's protected call, as it came. */
export interface HeldCall {
  readonly incoming: IncomingCall;
  readonly call: ToolCallParams;
  readonly tool: ToolDefinition;
  readonly active: Active;
}

/** Finds the operation of a protected call, waits with it for as long as the client is made to wait, and says what is true then. */
export async function answerHeld(context: GateContext, held: HeldCall): Promise<GateAnswer> {
  const { ledger } = context.deps;
  const key = keyOf(context, held);
  const { session } = held.incoming;
  const identity = { callKey: key, subject: session.requester.subject, server: session.server, tool: held.call.tool };
  const claim = await ledger.claimCall(identity);
  const known = claim.state?.status === 'ended' ? claim.state : await holdUntilEnd(context, held, claim);
  const now = known === null ? await ledger.readClaimedCall({ ...claim, callKey: key }) : { ...claim, state: known };
  return say(context, held, { ...now, callKey: key });
}

function keyOf({ deps }: GateContext, { incoming: { session }, call, active }: HeldCall): string {
  const { requester, server } = session;
  const { tool, arguments: given, ownKey } = call;
  const bound = callContext(active.policy, session, { ...call, checkpoint: undefined })?.session ?? null;
  return callKey(deps.secretsKey, { requester, server, tool, arguments: given, ownKey, bound });
}

/** The end of the call where it comes in time and was told here; null where the ledger has to be asked. */
async function holdUntilEnd(context: GateContext, held: HeldCall, claim: ClaimedCall): Promise<CallState | null> {
  const { holds } = context;
  const hold = holds.getOrAdd(claim.operationId);
  const { session, signal } = held.incoming;
  const leave = hold.join({ session, signal });
  const watching = new AbortController();
  try {
    const closed = collectFor(context, held, { claim, hold, signal: watching.signal });
    return await waitForEnd(hold, { closed, signal, waitForMs: waitForMsOf(context, held) });
  } finally {
    watching.abort();
    leave();
    holds.release(hold);
  }
}

function waitForMsOf(context: GateContext, { incoming, call }: HeldCall): number {
  const wantsProgress = call.progressToken !== null && incoming.notify !== undefined;
  return context.waitForMs({ clientName: incoming.session.clientName, wantsProgress });
}

async function say(
  context: GateContext,
  { tool }: HeldCall,
  claim: ClaimedCall & { readonly callKey: string },
): Promise<GateAnswer> {
  const { ledger, log } = context.deps;
  const { callKey: key, operationId } = claim;
  const state = await whole(context, claim);
  if (state === undefined) return refusedAnswer(refusal('RESULT_GONE', { operation: operationId }));
  const onDelivered = (): void => {
    ledger.noteDelivered({ callKey: key, operationId }).catch((error: unknown) => {
      log.warn({ operationId, error: String(error) }, 'gateway.deliveryNotRecorded');
    });
  };
  const hasOutputSchema = tool.raw['outputSchema'] !== undefined;
  return answerOf(state, { claim, hasOutputSchema, reviewUrl: context.reviewUrl(operationId), onDelivered });
}

/** The state with the tool's whole result, however long; undefined where the ledger does not have it any more. */
async function whole({ deps }: GateContext, claim: ClaimedCall): Promise<CallState | null | undefined> {
  const { state, operationId } = claim;
  const end: CallOutcome | null = state?.status === 'ended' ? state.end : null;
  if (end?.outcome !== 'executed' || end.result?.kind !== 'stored') return state;
  const row = await deps.ledger.operation(operationId);
  const result = row === null ? null : wholeResultOf(row);
  return result === null ? undefined : { status: 'ended', end: { ...end, result } };
}
