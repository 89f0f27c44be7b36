import { jsonOf } from '../../core/json-record';
import { unreachable } from '../../core/unreachable';
import type { CallState } from '../../core/call-state';
import type { Decision, Verdict, VerdictCode } from '../../core/decision';
import {
  isProof,
  judgeDecision,
  progressOf,
  type CountedDecision,
  type Judged,
  type Judgement,
  type SignatureCheck,
} from '../../core/judge-decision';
import type { Ask } from '../../core/evaluation';
import { judgeEmergency, type EmergencyFacts } from '../../core/emergency';
import { canonicalJson, type JsonObject } from '../../core/json';
import type { Policy } from '../../core/policy';
import { textDigest } from '../text-digest';
import {
  cardOf,
  countedOf,
  coveringGrantId,
  lifeOf,
  stateOfOperation,
  stateOfRequest,
  termsOf,
  type DecisionRow,
  type RequestRow,
} from '../rows';
import type { Tx } from '../transaction';
import { caughtUp } from './advance-request';
import { closeRequest } from './close-request';
import { issueGrant } from './issue-grant';
import { decisionsOf, lockLatestRequest, operationOf } from './locate';
import { lookUpAt } from './read-call';
import { overdueRetrospective } from '../retrospective-queries';
import { openRetrospective } from './retrospectives';

export interface DecisionToRecord {
  readonly decision: Decision;
  /** The turn at which the decision arrived: a request of another turn is unknown there. */
  readonly workflowId: string;
  readonly signature: SignatureCheck;
  readonly policy: Policy;
  readonly trust: 'signatures' | 'namespace';
}

export interface DecisionAnswer {
  readonly verdict: Verdict;
  /** The call's state now; null where this turn has no such call. */
  readonly state: CallState | null;
  /** The server of the call, where there is one. */
  readonly server?: string;
}

/**
 * Judges one decision and puts it on record, whatever it is worth: a refused one is a fact too. Idempotent: the same
 * decision again finds itself counted and gets the same answer.
 */
export async function recordDecision(tx: Tx, received: DecisionToRecord): Promise<DecisionAnswer> {
  const { decision, workflowId } = received;
  const latest = await lockLatestRequest(tx, decision.operationId);
  if (latest === null || latest.workflow_id !== workflowId || decision.revision > latest.revision)
    return unknownRequest(tx, received);
  const row = await caughtUp(tx, latest, received);
  const decisions = (await decisionsOf(tx, decision.operationId)).filter((entry) => entry.revision === row.revision);
  const judgement: Judgement = {
    life: lifeOf(row),
    ask: cardOf(row).ask,
    requester: cardOf(row).requester,
    policy: received.policy,
    trust: received.trust,
    counted: decisions.map(countedOf),
    ...(await coveredBy(tx, row)),
  };
  const { judged, ask } = await judge(tx, { judgement, received, facts: cardOf(row) });
  const kept = judged.effect === 'none' ? decisions : [...decisions, await insertDecision(tx, received)];
  const closed = await applyEffect(tx, { row, decisions: kept, judgement: { ...judgement, ask }, judged });
  note(tx, { received, judged, row });
  return answer(tx, { row: closed, decisions: kept, judgement: { ...judgement, ask }, judged });
}

async function judge(
  tx: Tx,
  { judgement, received, facts }: { judgement: Judgement; received: DecisionToRecord; facts: EmergencyFacts },
): Promise<{ readonly judged: Judged; readonly ask: Ask }> {
  const { decision, signature } = received;
  const at = { signature, nowMs: tx.nowMs };
  const { emergency } = decision;
  if (emergency === undefined) return { judged: judgeDecision(judgement, decision, at), ask: judgement.ask };
  const circumstances = { ...at, facts, overdue: await overdueRetrospective(tx.db, tx.nowMs) };
  return judgeEmergency(judgement, { ...decision, emergency }, circumstances);
}

async function coveredBy(tx: Tx, row: RequestRow): Promise<Pick<Judgement, 'coveredBy'>> {
  const grantId = coveringGrantId(row);
  if (grantId === null) return {};
  const grant = await tx.db.selectFrom('grants').selectAll().where('grant_id', '=', grantId).executeTakeFirstOrThrow();
  return { coveredBy: { grantId, deciders: termsOf(grant).deciders } };
}

async function insertDecision(tx: Tx, { decision, signature }: DecisionToRecord): Promise<DecisionRow> {
  const row: DecisionRow = {
    decision_id: `${decision.operationId}.${decision.revision}.${decision.reviewer}.${decision.answer}`,
    operation_id: decision.operationId,
    revision: decision.revision,
    reviewer: decision.reviewer,
    answer: decision.answer,
    reason: decision.reason ?? null,
    channel: decision.channel,
    verified: isProof(signature) ? 1 : 0,
    message: canonicalJson(jsonOf(decision)),
    decided_at: tx.nowMs,
  };
  await tx.db
    .insertInto('decisions')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return row;
}

interface Applying {
  readonly row: RequestRow;
  readonly decisions: readonly DecisionRow[];
  readonly judgement: Judgement;
  readonly judged: Judged;
}

async function applyEffect(tx: Tx, { row, decisions, judgement, judged }: Applying): Promise<RequestRow> {
  switch (judged.effect) {
    case 'none':
    case 'count':
      return row;
    case 'deny':
      return closeRequest(tx, row, { state: 'denied', reason: decisions.at(-1)?.reason ?? null });
    case 'allow': {
      const closed = await closeRequest(tx, row, { state: 'allowed', reason: null });
      const { ask, policy } = judgement;
      const grant = await issueGrant(tx, { row, decisions, ask });
      const [decision] = decisions.slice(-1);
      if (ask.emergency && decision !== undefined) await openRetrospective(tx, { row, grant, decision, policy });
      return closed;
    }
    default:
      return unreachable(judged.effect);
  }
}

function note(
  tx: Tx,
  { received, judged, row }: { received: DecisionToRecord; judged: Judged; row: RequestRow },
): void {
  const { decision, signature } = received;
  const kind = kindOf(judged);
  const body = {
    ...decisionBody(decision),
    code: judged.code,
    signature,
    trust: received.trust,
    openRevision: row.revision,
    ...(kind === 'decision.recorded' && { message: textDigest(canonicalJson(jsonOf(decision))) }),
  };
  tx.fact({ kind, operationId: decision.operationId, body });
}

/** A decision that is sent again is accepted again, but it counts once. */
function kindOf({ effect, code }: Judged): 'decision.recorded' | 'decision.repeated' | 'decision.notCounted' {
  if (effect !== 'none') return 'decision.recorded';
  return code === 'accepted' ? 'decision.repeated' : 'decision.notCounted';
}

function decisionBody(decision: Decision): JsonObject {
  const { decisionId, reviewer, answer, revision, digest, channel, emergency, signIn } = decision;
  return {
    decisionId,
    reviewer,
    answer,
    revision,
    digest,
    channel,
    reason: decision.reason ?? null,
    minutes: decision.minutes ?? null,
    ...(emergency !== undefined && { emergency: { ...emergency } }),
    ...(signIn !== undefined && { signIn: { ...signIn } }),
  };
}

function unknownRequest(tx: Tx, { decision, signature }: DecisionToRecord): DecisionAnswer {
  const body = { ...decisionBody(decision), code: 'unknownRequest', signature };
  tx.fact({ kind: 'decision.notCounted', operationId: null, body: { ...body, namedOperation: decision.operationId } });
  const detail = 'no such approval request is open in this turn; a decision is never kept for later';
  const verdict = verdictOf('unknownRequest', detail, {
    operationId: decision.operationId,
    revision: decision.revision,
  });
  return { verdict, state: null };
}

function verdictOf(code: VerdictCode, detail: string, at: { operationId: string; revision: number }): Verdict {
  return { code, detail, ...at, state: null, decidedBy: [], counted: null };
}

interface Answering {
  readonly row: RequestRow;
  readonly decisions: readonly DecisionRow[];
  readonly judgement: Judgement;
  readonly judged: Judged;
}

async function answer(tx: Tx, { row, decisions, judgement, judged }: Answering): Promise<DecisionAnswer> {
  // What this decision counted for was waiting, so it has not been sent.
  const operation = judged.effect === 'none' ? await operationOf(tx, row.operation_id) : null;
  const state = operation === null ? stateOfRequest(row, decisions) : stateOfOperation(operation, lookUpAt(operation));
  const counted: readonly CountedDecision[] = decisions.map(countedOf);
  const hidden = judged.code === 'notAReviewer' || judged.code === 'badSignature';
  const closing = row.state === 'denied' ? 'deny' : 'allow';
  const closedBy =
    row.state === 'allowed' || row.state === 'denied' ? counted.filter((entry) => entry.answer === closing) : [];
  const verdict: Verdict = {
    code: judged.code,
    detail: judged.detail,
    operationId: row.operation_id,
    revision: row.revision,
    // The same decision again gets the same answer, however far its call has come meanwhile.
    state: hidden ? null : judged.code === 'accepted' ? row.state : (operation?.state ?? row.state),
    decidedBy: hidden ? [] : (judgement.coveredBy?.deciders ?? closedBy.map((entry) => entry.reviewer)),
    counted: row.state === 'pending' && !hidden ? progressOf({ ...judgement, counted }) : null,
  };
  return { verdict, state, server: row.server };
}
