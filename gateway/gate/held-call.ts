import type { ToolDefinition } from '../../activities/tool-server';
import type { CallState } from '../../core/call-state';
import type { CallOutcome } from '../../core/outcome';
import type { Active } from '../../ledger/ledger';
import type { ClaimedCall } from '../../ledger/commands/gateway-calls';
import { wholeResultOf } from '../../ledger/rows';
import type { GateAnswer, IncomingCall } from '../ports';
import { answerOf, unreadAnswer } from './call-answer';
import { callKey } from './call-key';
import { AGAIN_AFTER_MS, collectAgain, collectFor } from './collect';
import type { HoldContext } from './hold-context';
import { reportWaiting } from './report-waiting';
import { callContext } from './session-context';
import type { ToolCallParams } from './tool-call';
import { traceOf } from './trace-context';
import { waitForEnd } from './wait-for-end';

/** One client's protected call, as it came. */
export interface HeldCall {
  readonly incoming: IncomingCall;
  readonly call: ToolCallParams;
  readonly tool: ToolDefinition;
  readonly active: Active;
  /** By the monotonic clock. */
  readonly cameAtMs: number;
}

export type KeyedClaim = ClaimedCall & { readonly callKey: string };

/** Finds the operation of a protected call, waits with it for as long as the client is made to wait, and says what is true then. */
export async function answerHeld(context: HoldContext, held: HeldCall): Promise<GateAnswer> {
  const claim = await claimOf(context, held);
  if (claim.state?.status === 'ended') return say(context, held, claim);
  return answerWhenOver(context, held, { claim, waitForMs: waitForMsOf(context, held) });
}

/** The operation of a protected call. */
export async function claimOf(context: HoldContext, held: HeldCall): Promise<KeyedClaim> {
  const { session } = held.incoming;
  const key = keyOf(context, held);
  const identity = { callKey: key, subject: session.requester.subject, server: session.server, tool: held.call.tool };
  return { ...(await context.deps.ledger.claimCall(identity)), callKey: key };
}

interface Staying {
  readonly claim: KeyedClaim;
  readonly waitForMs: number;
}

/** Waits with an operation, and says what is true when it is over or the time is. */
export async function answerWhenOver(context: HoldContext, held: HeldCall, staying: Staying): Promise<GateAnswer> {
  const { claim } = staying;
  const waited = await holdUntilEnd(context, held, staying);
  const { state, failure } = waited;
  const now = state === null ? await standing(context, claim, waited) : { ...claim, ...waited.asked, state };
  if ('unread' in now) return unreadAnswer(claim, { hasOutputSchema: hasOutputSchema(held), detail: now.unread });
  const mayBeDone = now.state?.status === 'dispatched' || now.state?.status === 'ended';
  // Whatever fails, nobody is told that nothing was done where something may have been.
  if (failure !== null && !mayBeDone) throw failure;
  return say(context, held, now);
}

function keyOf({ deps }: HoldContext, { incoming: { session }, call, active }: HeldCall): string {
  const { requester, server } = session;
  const { tool, arguments: given, ownKey } = call;
  const bound = callContext(active.policy, session, { ...call, checkpoint: undefined })?.session ?? null;
  return callKey(deps.secretsKey, { requester, server, tool, arguments: given, ownKey, bound });
}

interface Waited {
  /** The end of the call where it came in time and was told here; null where the ledger has to be asked. */
  readonly state: CallState | null;
  /** What this process has heard of its approval request. */
  readonly asked: Partial<Pick<ClaimedCall, 'asked'>>;
  /** Whether its tool was called from here. */
  readonly isSent: boolean;
  /** Why the turn could not be told or asked. */
  readonly failure: Error | null;
}

async function holdUntilEnd(context: HoldContext, held: HeldCall, { claim, waitForMs }: Staying): Promise<Waited> {
  const { holds } = context;
  const hold = holds.getOrAdd(claim.operationId);
  const { session, signal, message } = held.incoming;
  const leave = hold.join({ session, signal, trace: traceOf(message.params) });
  const stopReporting = reportWaiting(hold, held, claim.state);
  const watching = new AbortController();
  const again = setInterval(() => void collectAgain(context, held, { claim, hold }), AGAIN_AFTER_MS);
  let failure: Error | null = null;
  let state: CallState | null = null;
  try {
    const closed = collectFor(context, held, { claim, hold, signal: watching.signal });
    state = await waitForEnd(hold, { closed, signal, waitForMs });
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  } finally {
    watching.abort();
    clearInterval(again);
    stopReporting();
    leave();
    holds.release(hold);
  }
  return { state, failure, asked: hold.asked === null ? {} : { asked: hold.asked }, isSent: hold.isSent };
}

/** Where the call stands on record. Throws where that cannot be read, and the call has certainly not been sent. */
async function standing({ deps }: HoldContext, claim: KeyedClaim, { isSent }: Waited): Promise<KeyedClaim | Unread> {
  try {
    return { ...(await deps.ledger.readClaimedCall(claim)), callKey: claim.callKey };
  } catch (error) {
    // Another gateway may have run what was on record; what was not has certainly not run.
    if (!isSent && claim.state === null) throw error;
    deps.log.warn({ operationId: claim.operationId, error: String(error) }, 'gateway.unread');
    return { unread: error instanceof Error ? error.message : String(error) };
  }
}

interface Unread {
  readonly unread: string;
}

/** Counted from when the call came. */
function waitForMsOf(context: HoldContext, { incoming, call, cameAtMs }: HeldCall): number {
  const wantsProgress = call.progressToken !== null && incoming.notify !== undefined;
  const waitForMs = context.waitForMs({ clientName: incoming.session.clientName, wantsProgress });
  return Math.max(waitForMs - (performance.now() - cameAtMs), 0);
}

export async function say(context: HoldContext, held: HeldCall, claim: KeyedClaim): Promise<GateAnswer> {
  const { ledger, log } = context.deps;
  const { callKey: key, operationId } = claim;
  const state = await whole(context, claim);
  const onDelivered = (): void => {
    ledger.noteDelivered({ callKey: key, operationId }).catch((error: unknown) => {
      log.warn({ operationId, error: String(error) }, 'gateway.deliveryNotRecorded');
    });
  };
  return answerOf(state, {
    claim,
    hasOutputSchema: hasOutputSchema(held),
    reviewUrl: context.reviewUrl(operationId),
    onDelivered,
  });
}

function hasOutputSchema({ tool }: HeldCall): boolean {
  return tool.raw['outputSchema'] !== undefined;
}

/** The state with the tool's whole result, however long; it is only named where the ledger does not give it. */
async function whole({ deps }: HoldContext, { state, operationId }: ClaimedCall): Promise<CallState | null> {
  const end: CallOutcome | null = state?.status === 'ended' ? state.end : null;
  if (end?.outcome !== 'executed' || end.result?.kind !== 'stored') return state;
  const row = await deps.ledger.operation(operationId).catch((error: unknown) => {
    deps.log.warn({ operationId, error: String(error) }, 'gateway.unread');
    return null;
  });
  const result = row === null ? null : wholeResultOf(row);
  return result === null ? state : { status: 'ended', end: { ...end, result } };
}
