import { HoldpointError } from '../../client/errors';
import { once } from 'node:events';
import { collectTurn } from '../../client/collect-turn';
import type { TurnStart } from '../../client/start-turn';
import { temporalError } from '../../client/temporal-error';
import { untilClosed } from '../../client/until-closed';
import type { CallState } from '../../core/call-state';
import { GATEWAY_CALL_ID } from '../../core/gateway-call';
import { turnWorkflowId } from '../../core/turn';
import type { PackedSnapshot } from '../../core/turn-packing';
import type { ClaimedCall } from '../../ledger/commands/gateway-calls';
import type { HoldContext } from './hold-context';
import type { HeldCall } from './held-call';
import type { Hold } from './hold';
import { inSpan, underTrace } from '../../tracing/span';
import { callContext } from './session-context';
import { callersPlace } from './trace-context';

interface Collecting {
  readonly claim: ClaimedCall;
  readonly hold: Hold;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/**
 * Says to the turn of a call that somebody is here to take its result, once for all who wait here, and starts it where
 * it is new. Settles when the turn is over; rejects with a HoldpointError where Temporal refused or cannot be reached.
 */
export async function collectFor(context: HoldContext, held: HeldCall, collecting: Collecting): Promise<void> {
  const { holds, client, deps } = context;
  const { claim, hold, signal } = collecting;
  const { operationId: id, state } = claim;
  const { session } = held.incoming;
  const workflowId = turnWorkflowId(session.requester.subject, claim.turnId);
  if (state?.status === 'allowed') listAhead(context, held, hold);
  // Until the first of several callers has told the turn, there may be none.
  await hold.told;
  // An allowed one waits for nothing else: whoever collected it before has left.
  if (!holds.isCollected(id) || state?.status === 'allowed') {
    holds.noteCollected(id);
    const telling = tellTurn(context, held, claim);
    hold.told = telling.catch(() => undefined);
    const told = await telling;
    if (told !== null && isOver(told)) return;
    const state = told === null ? null : pendingState(told);
    if (state !== null) hold.tell(state);
  }
  try {
    await untilClosed(client, workflowId, signal);
    if (!signal.aborted) holds.forgetCollected(id);
  } catch (error) {
    if (signal.aborted) return;
    deps.log.warn({ operationId: id, error: String(error) }, 'gateway.notWatched');
    // What happens here is still heard; for the rest, the ledger tells where the call stands when the wait is over.
    await once(signal, 'abort');
  }
}

/**
 * Tells the turn again where the call was allowed and does not run: a gateway that was too busy to take it up in time
 * counts as gone there, though its caller is still here. Once for all who wait here.
 */
export async function collectAgain(
  context: HoldContext,
  held: HeldCall,
  { claim, hold }: { readonly claim: ClaimedCall & { readonly callKey: string }; readonly hold: Hold },
): Promise<void> {
  const { deps, holds } = context;
  const nowMs = performance.now();
  if (hold.running || nowMs - hold.lookedAgainAtMs < AGAIN_AFTER_MS / 2) return;
  hold.lookedAgainAtMs = nowMs;
  try {
    const { state } = await deps.ledger.readClaimedCall(claim);
    if (state?.status !== 'allowed' || hold.isEmpty) return;
    holds.noteCollected(claim.operationId);
    await tellTurn(context, held, claim);
  } catch (error) {
    deps.log.warn({ operationId: claim.operationId, error: String(error) }, 'gateway.notToldAgain');
  }
}

/** A little longer than a turn waits for whoever collects to take a call up. */
export const AGAIN_AFTER_MS = 6_000;

/** The re-check of an allowed call lists the tools of its server: begun now, it serves. */
function listAhead({ tools, deps }: HoldContext, { incoming, active }: HeldCall, hold: Hold): void {
  const nowMs = performance.now();
  hold.allowedSinceMs = nowMs;
  const { session } = incoming;
  const server = active.policy.servers[session.server];
  // What fails here fails in the re-check as well, which tells.
  if (server !== undefined)
    void tools
      .serversFor(session, deps.servers)
      .get(server)
      .listTools(nowMs)
      .catch(() => undefined);
}

/** @returns what the turn says of itself; null where it does not answer in time. Throws its refusal. */
async function tellTurn(context: HoldContext, held: HeldCall, claim: ClaimedCall): Promise<PackedSnapshot | null> {
  const { client, taskQueue, ownQueue, holds, deps } = context;
  const place = { taskQueue, collector: { taskQueue: ownQueue } };
  try {
    const answer = await inCallersTrace(held, claim, () => collectTurn(client, turnOf(held, claim.turnId), place));
    if (answer.kind === 'answer') {
      const { refusal } = answer.value;
      if (refusal !== null) throw new HoldpointError(refusal.code, refusal.detail);
      return answer.value;
    }
    deps.log.warn({ operationId: claim.operationId, cause: String(answer.cause) }, 'gateway.noAnswer');
  } catch (error) {
    holds.forgetCollected(claim.operationId);
    throw temporalError(error, claim.turnId);
  }
  holds.forgetCollected(claim.operationId);
  return null;
}

/** The turn belongs to the trace that the call names. */
function inCallersTrace<T>({ incoming, call }: HeldCall, { operationId }: ClaimedCall, work: () => Promise<T>) {
  const { session } = incoming;
  const names = () => ({
    'holdpoint.operation_id': operationId,
    'holdpoint.server': session.server,
    'holdpoint.tool': call.tool,
  });
  return underTrace(callersPlace(incoming), () =>
    inSpan<T>('holdpoint hold call', { kind: 'server', attributes: names }, work),
  );
}

function isOver({ calls }: PackedSnapshot): boolean {
  return calls[0]?.state.status === 'ended';
}

function pendingState({ calls, requiredActions }: PackedSnapshot): CallState | null {
  const [call] = calls;
  const [request] = requiredActions;
  if (call?.state.status !== 'pending' || request === undefined) return null;
  const { level, dueAtMs } = call.state;
  return { status: 'pending', request, level, dueAtMs };
}

function turnOf({ incoming: { session }, call, active }: HeldCall, turnId: string): TurnStart {
  const context = callContext(active.policy, session, call);
  const { tool, arguments: given } = call;
  const proposed = { id: GATEWAY_CALL_ID, server: session.server, tool, arguments: given };
  return {
    id: turnId,
    requester: session.requester,
    calls: [context === undefined ? proposed : { ...proposed, context }],
  };
}
