import type { CallState } from '../core/call-state';
import { refusal } from '../core/errors';
import { isJsonObject, type JsonObject } from '../core/json';
import type { ProposedCall } from '../core/turn';
import type { ApprovalFacts } from '../core/outcome';
import type { OpeningCause } from '../core/request';
import type { Dispatched } from '../ledger/commands/dispatch';
import type { Ending } from '../ledger/commands/outcomes';
import { toolResultOf } from '../ledger/rows';
import type { Dependencies } from './dependencies';
import { hideInText, maskSecrets, type SecretText } from './masking';
import { openingOf } from './open-requests';
import { patientServers, RECHECK_PATIENCE_MS } from './patient-servers';
import { permitOf } from './permit-of';
import { emergencyAsks } from '../core/emergency';
import { amountsOf } from '../core/material';
import { boundOf, prepareCall, type PreparedCall, type ReadyCall, type TurnRef } from './prepare-call';
import type { ToolAnswer } from './tool-server';

export interface RunInput {
  readonly turn: TurnRef;
  readonly call: ProposedCall;
  /** 1, or one more than an attempt whose effect is proven absent. */
  readonly attempt: number;
  /** A longer result is only named in the answer; it is in the ledger. */
  readonly resultBytes: number;
}

/** `unrecorded`: the tool answered but the ledger could not be written; `recordOutcome` has to write it. */
export interface Ran {
  readonly state: CallState;
  readonly unrecorded: Ending | null;
  /** True where nobody is there to take the result: nothing was sent, and the call waits to be collected. */
  readonly nobodyThere?: true;
}

export interface RunChoice {
  /** A listing of tools begun then or later is young enough for the re-check. */
  readonly listedSinceMs?: number | undefined;
  /** Asked right before the call is reserved, which is the last moment: false where nobody takes its result any more. */
  readonly isCollected?: () => boolean;
}

const MOST_PLANS = 5;

/** The send begins at most this long after the transaction, or not at all: a process that was paused meanwhile is late. */
const LEASE_MARGIN_MS = 5_000;

/**
 * Runs one allowed call: re-checks everything, writes the operation, sends, writes the outcome. At most one caller gets
 * past the transaction, so running it twice at once sends once; the other gets the state on record.
 */
export async function runTool(deps: Dependencies, input: RunInput, choice: RunChoice = {}): Promise<Ran> {
  const patient = { ...deps, servers: patientServers(deps.servers, RECHECK_PATIENCE_MS) };
  for (let plan = 1; ; plan += 1) {
    const active = await deps.ledger.activePolicy();
    const since = plan === 1 ? choice.listedSinceMs : undefined;
    const prepared = await prepareCall(patient, { ...input, active, listedSinceMs: since });
    if (prepared.kind === 'refused') return recorded(await refuse(deps, prepared, input.attempt));
    await deps.onStep?.('beforeTransaction', prepared.ref.operationId);
    if (choice.isCollected?.() === false) return { ...recorded({ status: 'allowed', revision: 0 }), nobodyThere: true };
    const isLate = lateAfter(LEASE_MARGIN_MS);
    const dispatched = await reserve(deps, prepared, input.attempt);
    switch (dispatched.kind) {
      case 'state':
        return recorded(dispatched.state);
      case 'dispatched':
        return send(deps, prepared, { ...dispatched, attempt: input.attempt, isLate });
      case 'stale': {
        const state = await reopen(deps, prepared, dispatched.cause);
        if (state.status !== 'allowed') return recorded(state);
        break;
      }
      case 'reevaluate':
        break;
    }
    if (plan === MOST_PLANS) {
      const why = refusal('UNSTABLE', { count: MOST_PLANS, detail: 'policy' });
      return recorded(await refuse(deps, { kind: 'refused', ref: prepared.ref, refusal: why }, input.attempt));
    }
  }
}

/** Refused before anything was sent; or again, where the attempt before is proven absent: then that is the outcome. */
async function refuse(
  deps: Dependencies,
  prepared: PreparedCall & { readonly kind: 'refused' },
  attempt: number,
): Promise<CallState> {
  if (attempt === 1) return reopen(deps, prepared, 'ruleChanged');
  const { code, detail: why } = prepared.refusal;
  const detail = `the tool has no record of this operation: nothing was done. It is not sent again, ${code}: ${why}`;
  const ending = { outcome: 'failed', detail, evidence: 'lookUp', attempt: attempt - 1 } as const;
  return (await deps.ledger.recordOutcome(prepared.ref.operationId, ending)) ?? reopen(deps, prepared, 'ruleChanged');
}

async function reserve(deps: Dependencies, call: ReadyCall, attempt: number): Promise<Dispatched> {
  const { entry } = call;
  const lookUp =
    entry.outcome === null
      ? null
      : {
          v: 1 as const,
          server: call.server,
          contract: entry.outcome,
          arguments: maskSecrets(call.filled, entry.secrets, deps.secretsKey),
          idempotent: entry.idempotent,
        };
  return deps.ledger.dispatch({
    call: call.ref,
    ask: call.ask,
    emergencies:
      call.ask === null ? [] : emergencyAsks(call.active.policy, { ...call.call, material: call.material }, call.ask),
    bindingDigest: call.bindingDigest,
    bound: boundOf(call),
    amounts: amountsOf(call.material),
    similarDigest: call.similarDigest,
    active: call.active,
    lookUp,
    leaseMs: entry.timeoutMs + LEASE_MARGIN_MS,
    attempt,
  });
}

async function reopen(deps: Dependencies, prepared: PreparedCall, cause: OpeningCause): Promise<CallState> {
  const [opened] = await deps.ledger.openCalls([await openingOf(deps, prepared, cause)]);
  if (opened?.kind === 'state') return opened.state;
  return { status: 'allowed', revision: 0 };
}

interface Sending {
  readonly approval: ApprovalFacts | null;
  readonly leaseUntilMs: number;
  readonly attempt: number;
  readonly isLate: () => boolean;
}

async function send(deps: Dependencies, call: ReadyCall, sending: Sending): Promise<Ran> {
  const { operationId } = call.ref;
  await deps.onStep?.('afterTransaction', operationId);
  const answer = await ask(deps, call, sending);
  await deps.onStep?.('afterSend', operationId);
  const ending = endingOf(answer, sending.attempt, call.secretTexts);
  if (ending === null) {
    await deps.ledger.endAttempt(operationId, sending.attempt);
    return recorded({ status: 'dispatched', lookUpAtMs: 0 });
  }
  await deps.onStep?.('beforeCommit', operationId);
  return commit(deps, { operationId, ending, approval: sending.approval });
}

async function ask(deps: Dependencies, call: ReadyCall, sending: Sending): Promise<ToolAnswer> {
  const permit = await permitOf(deps.permitKey, call, sending);
  return deps.servers.get(call.server).callTool({
    name: call.call.tool,
    arguments: call.filled,
    more: retryOf(call),
    meta: { 'dev.holdpoint/operation': call.ref.operationId, 'dev.holdpoint/permit': permit },
    timeoutMs: call.entry.timeoutMs,
    isLate: sending.isLate,
  });
}

/** What the client answers a question of the server with: part of the session that was bound. */
function retryOf({ call: { context } }: ReadyCall): JsonObject | undefined {
  const session = context?.session;
  const retry = session !== undefined && isJsonObject(session) ? session['retry'] : undefined;
  return retry !== undefined && isJsonObject(retry) ? retry : undefined;
}

/** By two clocks: the monotonic one stands still while a machine sleeps, the other may be set back. */
function lateAfter(limitMs: number): () => boolean {
  const [since, sinceMs] = [performance.now(), Date.now()];
  return () => performance.now() - since > limitMs || Date.now() - sinceMs > limitMs;
}

function endingOf(answer: ToolAnswer, attempt: number, secrets: readonly SecretText[]): Ending | null {
  switch (answer.kind) {
    case 'result': {
      const isError = answer.result['isError'] === true;
      return { outcome: 'executed', result: JSON.stringify(answer.result), isError, evidence: 'answer' };
    }
    case 'notSent':
      return { outcome: 'failed', detail: hideInText(answer.detail, secrets), evidence: 'notSent', attempt };
    case 'ambiguous':
      return null;
  }
}

async function commit(
  deps: Dependencies,
  { operationId, ending, approval }: { operationId: string; ending: Ending; approval: ApprovalFacts | null },
): Promise<Ran> {
  try {
    const state = await deps.ledger.recordOutcome(operationId, ending);
    if (state !== null) return recorded(state);
  } catch (error) {
    deps.log.error({ operationId, error: String(error) }, 'outcome.unrecorded');
  }
  const unrecorded = fitting(ending);
  return { state: stateOf(unrecorded, approval), unrecorded };
}

/** The outcome as the turn sees it while the ledger cannot be written: a known outcome never turns unknown. */
function stateOf(ending: Ending, approval: ApprovalFacts | null): CallState {
  switch (ending.outcome) {
    case 'executed':
      return {
        status: 'ended',
        end: {
          outcome: 'executed',
          result: ending.result === null ? null : toolResultOf(ending.result, ending.isError),
          evidence: ending.evidence,
          approval,
        },
      };
    case 'failed':
      return {
        status: 'ended',
        end: { outcome: 'failed', detail: ending.detail, evidence: ending.evidence, approval },
      };
    case 'unknown':
      return { status: 'ended', end: { outcome: 'unknown', detail: ending.detail, approval } };
  }
}

/** It travels twice, once as text in text. */
const LONGEST_UNRECORDED = 262_144;

/** A result too large to travel is lost with the ledger down; that the tool executed is not. */
function fitting(ending: Ending): Ending {
  const large =
    ending.outcome === 'executed' && ending.result !== null && Buffer.byteLength(ending.result) > LONGEST_UNRECORDED;
  return large ? { ...ending, result: null } : ending;
}

function recorded(state: CallState): Ran {
  return { state, unrecorded: null };
}
