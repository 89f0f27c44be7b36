import { jsonOf } from '../../core/json-record';
import { sameRules, addToTotals, termsStillCover } from '../../core/grant';
import { openSteps, type CountedDecision } from '../../core/judge-decision';
import { canonicalJson, type JsonObject } from '../../core/json';
import type { Decision } from '../../core/decision';
import type { Ask, RuleRef } from '../../core/evaluation';
import type { ApprovalFacts } from '../../core/outcome';
import type { Policy } from '../../core/policy';
import type { OpeningCause } from '../../core/request';
import type { CallState } from '../../core/call-state';
import {
  approvalOf,
  cardOf,
  lifeOf,
  messageOf,
  termsOf,
  totalsOf,
  type DecisionRow,
  type GrantRow,
  type LookUp,
  type OperationRow,
  type RequestRow,
} from '../rows';
import type { Tx } from '../transaction';
import { decisionsOf, lockLatestRequest, operationOf, usableGrants } from './locate';
import { isActive, type CallRef } from './open-call';
import { readCall } from './read-call';

export interface Dispatch {
  readonly call: CallRef;
  /** The call as just re-checked by the policy `active`: what it asks now and what is bound now. */
  readonly ask: Ask | null;
  readonly bindingDigest: string;
  /** The parts of the binding, for telling what changed since the request was opened. */
  readonly bound: {
    readonly toolDigest: string;
    readonly serverIdentity: string;
    readonly resourceVersion: string;
    readonly argumentsDigest: string;
    /** Canonical JSON of the arguments as they are shown; what a reviewer saw must be these. */
    readonly masked: string;
  };
  readonly amounts: Readonly<Record<string, number>>;
  readonly similarDigest: string;
  readonly active: { readonly version: number; readonly policy: Policy; readonly trust: 'signatures' | 'namespace' };
  /** Checks a recorded decision's signature against the reviewer's keys of the active policy. */
  readonly stillSigned: (decision: Decision) => boolean;
  readonly lookUp: LookUp | null;
  readonly leaseMs: number;
  /** 1 for the first send; n only after attempt n - 1 was proven absent at a tool that is idempotent by operation id. */
  readonly attempt: number;
}

export type Dispatched =
  /** The operation row is committed: this caller, and nobody else, may send now. */
  | { readonly kind: 'dispatched'; readonly approval: ApprovalFacts | null; readonly leaseUntilMs: number }
  /** Not this caller's to send: the call's state says why. */
  | { readonly kind: 'state'; readonly state: CallState }
  | { readonly kind: 'stale'; readonly cause: OpeningCause }
  | { readonly kind: 'reevaluate' };

/**
 * The transaction before the first byte: consumes the grant and writes the operation, or neither. Safe to run twice at
 * once: the operation id is unique, the grant's use is a guarded update, and the second caller gets the state.
 */
export async function dispatch(tx: Tx, request: Dispatch): Promise<Dispatched> {
  const { call } = request;
  const row = await lockLatestRequest(tx, call.operationId);
  const operation = await operationOf(tx, call.operationId);
  if (operation !== null) return again(tx, request, operation);
  const known = await readCall(tx, call);
  if (known !== null && known.status !== 'allowed') return { kind: 'state', state: known };
  if (!(await isActive(tx, request.active.version))) return { kind: 'reevaluate' };
  if (request.ask === null) return insert(tx, request, null);
  const found =
    row === null
      ? await coveringWindow(tx, request, request.ask)
      : await ownGrant(tx, request, { row, ask: request.ask });
  if ('cause' in found) return { kind: 'stale', cause: found.cause };
  if (!(await consume(tx, request, found.grant))) return { kind: 'stale', cause: 'grantUnusable' };
  return insert(tx, request, found);
}

interface Found {
  readonly grant: GrantRow;
  readonly approval: ApprovalFacts;
}

type Search = Found | { readonly cause: OpeningCause };

/** The grant of the call's own request, if what was approved is what would run and those who approved still may. */
async function ownGrant(tx: Tx, request: Dispatch, { row, ask }: { row: RequestRow; ask: Ask }): Promise<Search> {
  const changed = whatChanged(request, row);
  if (changed !== null) return { cause: changed };
  if (row.closed_reason?.startsWith('covered by grant') === true) return coveringWindow(tx, request, ask);
  const grants = await usableGrants(tx, keyOf(request));
  const grant = grants.find((entry) => entry.operation_id === row.operation_id && entry.revision === row.revision);
  if (grant === undefined) return { cause: 'grantUnusable' };
  const decisions = (await decisionsOf(tx, row.operation_id)).filter((entry) => entry.revision === row.revision);
  return judgeGrant(request, { grant, row, decisions, ask });
}

async function coveringWindow(tx: Tx, request: Dispatch, ask: Ask): Promise<Search> {
  const windows = (await usableGrants(tx, keyOf(request))).filter((grant) => grant.once_for === null);
  let cause: OpeningCause = 'grantUnusable';
  for (const grant of windows) {
    const row = await tx.db
      .selectFrom('requests')
      .selectAll()
      .where('operation_id', '=', grant.operation_id)
      .where('revision', '=', grant.revision)
      .executeTakeFirstOrThrow();
    const decisions = (await decisionsOf(tx, grant.operation_id)).filter((entry) => entry.revision === grant.revision);
    const found = sameRules(termsOf(grant).ask, ask)
      ? judgeGrant(request, { grant, row, decisions, ask })
      : { cause: 'ruleChanged' as const };
    if ('grant' in found) return found;
    cause = found.cause;
  }
  return { cause };
}

function keyOf({ call, bindingDigest }: Dispatch) {
  return { requesterKey: call.requesterKey, bindingDigest, operationId: call.operationId };
}

function judgeGrant(
  request: Dispatch,
  { grant, row, decisions, ask }: { grant: GrantRow; row: RequestRow; decisions: readonly DecisionRow[]; ask: Ask },
): Search {
  const terms = termsOf(grant);
  const same = sameRules(terms.ask, ask);
  if (!same && !termsStillCover(terms.ask, ask)) return { cause: 'ruleChanged' };
  const standing = decisions.filter((decision) => standsFor(request, decision)).map(counted);
  const { requester } = cardOf(row);
  const judgement = { life: lifeOf(row), requester, policy: request.active.policy };
  if (openSteps({ ...judgement, ask: terms.ask }, standing).length > 0) return { cause: 'reviewerChanged' };
  if (!same && openSteps({ ...judgement, ask }, standing).length > 0) return { cause: 'ruleChanged' };
  return { grant, approval: approvalFacts(grant, ask.rule) };
}

function standsFor({ active, stillSigned }: Dispatch, decision: DecisionRow): boolean {
  if (decision.verified === 1) return stillSigned(messageOf(decision));
  return active.trust === 'namespace';
}

function counted(decision: DecisionRow): CountedDecision {
  return {
    decisionId: decision.decision_id,
    reviewer: decision.reviewer,
    answer: decision.answer,
    verified: decision.verified === 1,
  };
}

function approvalFacts(grant: GrantRow, permittedRule: RuleRef | null): ApprovalFacts {
  const terms = termsOf(grant);
  return {
    revision: grant.revision,
    deciders: terms.deciders,
    askedRule: terms.ask.rule,
    permittedRule,
    grantId: grant.grant_id,
    emergency: terms.ask.emergency,
    verified: terms.verified,
  };
}

/** What differs between the request as it was approved and the call as it would run; null where nothing does. */
function whatChanged(request: Dispatch, row: RequestRow): OpeningCause | null {
  const card = cardOf(row);
  const { bound } = request;
  if (card.argumentsDigest !== bound.argumentsDigest || canonicalJson(card.arguments) !== bound.masked)
    return 'argumentsChanged';
  if (card.serverIdentity !== bound.serverIdentity) return 'serverChanged';
  if (card.toolDigest !== bound.toolDigest) return 'definitionChanged';
  if (canonicalJson(card.resourceVersion) !== bound.resourceVersion) return 'resourceChanged';
  if (row.binding_digest === request.bindingDigest) return null;
  return request.ask !== null && sameRules(card.ask, request.ask) ? 'argumentsChanged' : 'ruleChanged';
}

/** One use of the grant, if it is still live, unrevoked and within its limits when this transaction commits. */
async function consume(tx: Tx, request: Dispatch, grant: GrantRow): Promise<boolean> {
  const used = totalsOf(grant);
  const totals = addToTotals(termsOf(grant).ask.validity, used, request.amounts);
  if (totals === null) return false;
  const result = await tx.db
    .updateTable('grants')
    .set((eb) => ({ uses: eb('uses', '+', 1), totals: canonicalJson(totals) }))
    .where('grant_id', '=', grant.grant_id)
    .where('totals', '=', grant.totals)
    .whereRef('uses', '<', 'max_uses')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', tx.nowMs)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Thrown to undo a consumed grant when another caller's operation row won; the command then runs again and sees it. */
export class OperationTaken extends Error {
  override readonly name = 'OperationTaken';
}

async function insert(tx: Tx, request: Dispatch, found: Found | null): Promise<Dispatched> {
  const row = operationRow(tx, request, found);
  const result = await tx.db
    .insertInto('operations')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw new OperationTaken(row.operation_id);
  const approval = found?.approval ?? null;
  tx.fact({ kind: 'operation.dispatched', operationId: row.operation_id, body: dispatchBody(row, request, approval) });
  return { kind: 'dispatched', approval, leaseUntilMs: row.lease_until };
}

function dispatchBody(row: OperationRow, request: Dispatch, approval: ApprovalFacts | null): JsonObject {
  return {
    attempt: row.attempt,
    bindingDigest: row.binding_digest,
    contentDigest: row.content_digest,
    policyVersion: row.policy_version,
    rulesNow: request.ask?.matched.map((rule) => ({ ...rule })) ?? [],
    approval: approval === null ? null : jsonOf(approval),
  };
}

function operationRow(tx: Tx, request: Dispatch, found: Found | null): OperationRow {
  const { call } = request;
  return {
    operation_id: call.operationId,
    state: 'dispatched',
    revision: found?.approval.revision ?? 0,
    requester_key: call.requesterKey,
    subject: call.requester.subject,
    agent: call.requester.agent,
    server: call.server,
    tool: call.tool,
    workflow_id: call.workflowId,
    call_id: call.callId,
    binding_digest: request.bindingDigest,
    content_digest: call.contentDigest,
    similar_digest: request.similarDigest,
    grant_id: found?.grant.grant_id ?? null,
    approval: found === null ? null : canonicalJson(jsonOf(found.approval)),
    policy_version: request.active.version,
    look_up: request.lookUp === null ? null : canonicalJson(jsonOf(request.lookUp)),
    attempt: 1,
    absent_attempt: 0,
    dispatched_at: tx.nowMs,
    lease_until: tx.nowMs + request.leaseMs,
    ended_at: null,
    result: null,
    result_digest: null,
    result_is_error: null,
    evidence: null,
    detail: null,
    settled_by: null,
  };
}

/** A second send of the same operation: only the attempt after one whose effect is proven absent, and only one caller. */
async function again(tx: Tx, request: Dispatch, operation: OperationRow): Promise<Dispatched> {
  const state = async (): Promise<Dispatched> => {
    const known = await readCall(tx, request.call);
    return known === null ? { kind: 'reevaluate' } : { kind: 'state', state: known };
  };
  if (request.attempt !== operation.attempt + 1 || operation.absent_attempt !== operation.attempt) return state();
  if (operation.content_digest !== request.call.contentDigest) return state();
  if (!(await isActive(tx, request.active.version))) return { kind: 'reevaluate' };
  const leaseUntilMs = tx.nowMs + request.leaseMs;
  const result = await tx.db
    .updateTable('operations')
    .set({ attempt: request.attempt, lease_until: leaseUntilMs })
    .where('operation_id', '=', operation.operation_id)
    .where('state', '=', 'dispatched')
    .where('attempt', '=', operation.attempt)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return state();
  const approval = approvalOf(operation);
  const body = {
    attempt: request.attempt,
    because: 'the attempt before is proven absent and the tool is idempotent by operation id',
  };
  tx.fact({ kind: 'operation.dispatchedAgain', operationId: operation.operation_id, body });
  return { kind: 'dispatched', approval, leaseUntilMs };
}
