import { jsonOf } from '../../core/json-record';
import { askLike } from '../../core/emergency';
import { addToTotals, asksOwnHuman, sameRules } from '../../core/grant';
import { canonicalJson, type JsonObject } from '../../core/json';
import type { Decision } from '../../core/decision';
import type { SignatureCheck } from '../../core/judge-decision';
import type { Ask } from '../../core/evaluation';
import type { ApprovalFacts } from '../../core/outcome';
import type { Policy } from '../../core/policy';
import type { OpeningCause } from '../../core/request';
import type { CallState } from '../../core/call-state';
import {
  approvalOf,
  cardOf,
  coveringGrantId,
  termsOf,
  totalsOf,
  type GrantRow,
  type LookUp,
  type OperationRow,
  type RequestRow,
} from '../rows';
import { fixedOfOperation } from '../row-digest';
import type { Tx } from '../transaction';
import { grantOf, lockGrant, usableGrants } from './locate';
import { isActive, type CallRef } from './open-call';
import { decisionsOfGrant, judgeGrant, origin, type Found, type Search } from './judge-grant';
import { recordOutcome } from './outcomes';
import { lockCall, readCall, stateOfCall } from './read-call';

export interface Dispatch {
  readonly call: CallRef;
  /** The call as just re-checked by the policy `active`: what it asks now and what is bound now. */
  readonly ask: Ask | null;
  /** What each emergency rule of that policy would ask about it. */
  readonly emergencies: readonly Ask[];
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
  /** Checks a recorded decision's signature against the keys of the active policy. */
  readonly signatureOf: (decision: Decision) => SignatureCheck;
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
  const rows = await lockCall(tx, call.operationId);
  const { request: row, operation } = rows;
  if (operation !== null) return again(tx, request, operation);
  const known = await stateOfCall(tx, call, rows);
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

/** The grant of the call's own request, if what was approved is what would run and those who approved still may. */
async function ownGrant(tx: Tx, request: Dispatch, { row, ask }: { row: RequestRow; ask: Ask }): Promise<Search> {
  const changed = whatChanged(request, row);
  if (changed !== null) return { cause: changed };
  if (coveringGrantId(row) !== null) return coveringWindow(tx, request, ask);
  const grants = await usableGrants(tx, keyOf(request));
  const grant = grants.find((entry) => entry.operation_id === row.operation_id && entry.revision === row.revision);
  if (grant === undefined) return { cause: 'grantUnusable' };
  return judgeGrant(request, { grant, row, decisions: await decisionsOfGrant(tx, grant), ask });
}

async function coveringWindow(tx: Tx, request: Dispatch, ask: Ask): Promise<Search> {
  if (asksOwnHuman(ask)) return { cause: 'grantUnusable' };
  const windows = (await usableGrants(tx, keyOf(request))).filter((grant) => grant.once_for === null);
  let cause: OpeningCause = 'grantUnusable';
  for (const grant of windows) {
    const granted = termsOf(grant).ask;
    const like = askLike(granted, ask, request.emergencies);
    const found =
      like !== null && sameRules(granted, like)
        ? judgeGrant(request, { ...(await origin(tx, grant)), ask })
        : { cause: 'ruleChanged' as const };
    if ('grant' in found) return found;
    cause = found.cause;
  }
  return { cause };
}

function keyOf({ call, bindingDigest }: Dispatch) {
  return { requesterKey: call.requesterKey, bindingDigest, operationId: call.operationId };
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
async function consume(tx: Tx, request: Dispatch, found: GrantRow): Promise<boolean> {
  const grant = await lockGrant(tx, found);
  const totals = addToTotals(termsOf(grant).ask.validity, totalsOf(grant), request.amounts);
  if (totals === null) return false;
  const result = await tx.db
    .updateTable('grants')
    .set((eb) => ({ uses: eb('uses', '+', 1), totals: canonicalJson(totals) }))
    .where('grant_id', '=', grant.grant_id)
    .whereRef('uses', '<', 'max_uses')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', tx.nowMs)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  if (grant.once_for === null) noteUse(tx, { grant, request, summed: Object.keys(totals) });
  return true;
}

/** A fact of the window's own operation: what is said of a grant is found in one place, whoever used it. */
function noteUse(
  tx: Tx,
  { grant, request, summed }: { grant: GrantRow; request: Dispatch; summed: readonly string[] },
): void {
  // Not the sums: those are read from the row, and the record of each use is there to judge the row by.
  const amounts = Object.fromEntries(summed.map((field) => [field, request.amounts[field] ?? 0]));
  const body = { grantId: grant.grant_id, by: request.call.operationId, amounts };
  tx.fact({ kind: 'grant.used', operationId: grant.operation_id, body });
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
  const body = { ...dispatchBody(row, request, approval), row: fixedOfOperation(row) };
  tx.fact({ kind: 'operation.dispatched', operationId: row.operation_id, body });
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
  const mayFollow = request.attempt === operation.attempt + 1 && operation.absent_attempt === operation.attempt;
  const sameCall = operation.state === 'dispatched' && operation.content_digest === request.call.contentDigest;
  if (!mayFollow || !sameCall) return onRecord(tx, request);
  if (!(await isActive(tx, request.active.version))) return { kind: 'reevaluate' };
  const changed = await changedSince(tx, request, operation);
  if (changed !== null) return notAgain(tx, operation, changed);
  const leaseUntilMs = tx.nowMs + request.leaseMs;
  await tx.db
    .updateTable('operations')
    .set({ attempt: request.attempt, lease_until: leaseUntilMs })
    .where('operation_id', '=', operation.operation_id)
    .execute();
  const approval = approvalOf(operation);
  const because = 'the attempt before is proven absent and the tool is idempotent by operation id';
  const body = { ...dispatchBody(operation, request, approval), attempt: request.attempt, because };
  tx.fact({ kind: 'operation.dispatchedAgain', operationId: operation.operation_id, body });
  return { kind: 'dispatched', approval, leaseUntilMs };
}

async function onRecord(tx: Tx, request: Dispatch): Promise<Dispatched> {
  const known = await readCall(tx, request.call);
  return known === null ? { kind: 'reevaluate' } : { kind: 'state', state: known };
}

/** What differs between the first send and this one, so that what was approved is not what would run; null: nothing. */
async function changedSince(tx: Tx, request: Dispatch, operation: OperationRow): Promise<string | null> {
  const { ask } = request;
  if (operation.grant_id === null) return ask === null ? null : 'a rule asks about it now';
  const grant = await grantOf(tx, operation.grant_id);
  if (grant.revoked_at !== null) return 'its grant was revoked';
  if (ask === null) return null;
  if (request.bindingDigest !== operation.binding_digest) return 'what was approved has changed';
  const found = judgeGrant(request, { ...(await origin(tx, grant)), ask });
  return 'cause' in found ? `its approval does not hold any more (${found.cause})` : null;
}

/** The attempt before is proven absent, so nothing was done and nothing will be. */
async function notAgain(tx: Tx, operation: OperationRow, why: string): Promise<Dispatched> {
  const detail = `nothing was done, and it was not sent again: ${why}`;
  const ending = { outcome: 'failed', detail, evidence: 'lookUp', attempt: operation.attempt } as const;
  const state = await recordOutcome(tx, { operationId: operation.operation_id, ending });
  return state === null ? { kind: 'reevaluate' } : { kind: 'state', state };
}
