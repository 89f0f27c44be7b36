import { jsonOf } from '../../core/json-record';
import { open, transition, type CallLife } from '../../core/call';
import type { CallState } from '../../core/call-state';
import { shortId } from '../../core/digest';
import { askLike, emergencyAsks } from '../../core/emergency';
import { refusal, type Refusal } from '../../core/errors';
import { asksOwnHuman, sameRules } from '../../core/grant';
import { enoughReviewers } from '../../core/judge-decision';
import { canonicalJson, type JsonObject, type JsonValue } from '../../core/json';
import type { Policy } from '../../core/policy';
import type { ApprovalRequest, OpeningCause } from '../../core/request';
import type { Requester } from '../../core/requester';
import { TURN_LIMITS } from '../../core/turn';
import { fixedOfRequest } from '../row-digest';
import { textDigest } from '../text-digest';
import { cardOf, termsOf, waitingState, type RequestRow } from '../rows';
import type { Tx } from '../transaction';
import { brakeOn } from './brakes';
import { closeRequest } from './close-request';
import { requestEvent } from './events';
import { lockLatestRequest, usableGrants } from './locate';
import { readCall } from './read-call';
import { similarOperations } from './similar-operations';

/** Which call: its ids, its requester, and the digest over server, tool and every argument. */
export interface CallRef {
  readonly operationId: string;
  readonly workflowId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly requester: Requester;
  readonly requesterKey: string;
  readonly server: string;
  readonly tool: string;
  readonly contentDigest: string;
}

/** A request as far as it is known before the store gives it its revision, times and short id. */
export type RequestDraft = Omit<
  ApprovalRequest,
  'revision' | 'shortId' | 'openedAtMs' | 'deadlineAtMs' | 'similar' | 'cause' | 'previousResourceVersion'
>;

export type OpeningPlan =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'free' }
  | { readonly kind: 'ask'; readonly draft: RequestDraft; readonly similarDigest: string };

export interface Opening {
  readonly call: CallRef;
  readonly plan: OpeningPlan;
  /** The policy by which `plan` was made; null where none is active. */
  readonly active: {
    readonly version: number;
    readonly policy: Policy;
    readonly trust: 'signatures' | 'namespace';
  } | null;
  readonly cause: OpeningCause;
}

/** `reevaluate`: another policy became active since the plan was made. */
export type Opened = { readonly kind: 'state'; readonly state: CallState } | { readonly kind: 'reevaluate' };

/**
 * Puts a proposed call on record: refused, allowed (no rule asks, or a live window covers it) or pending. A call that is
 * on record already answers its state, so a repeat asks nobody again. With a `cause` other than `first` an allowed
 * request that was not sent is superseded by its next revision.
 */
export async function openCall(tx: Tx, opening: Opening): Promise<Opened> {
  const { call, plan, active, cause } = opening;
  const known = await readCall(tx, call);
  const superseding = cause !== 'first' && known?.status === 'allowed';
  if (known !== null && !superseding) return { kind: 'state', state: known };
  if (active !== null && !(await isActive(tx, active.version))) return { kind: 'reevaluate' };
  if (plan.kind === 'refused') return refused(tx, opening, plan.refusal);
  if (plan.kind === 'free') return free(tx, opening);
  const previous = superseding ? await lockLatestRequest(tx, call.operationId) : null;
  return ask(tx, { ...opening, plan }, previous);
}

export async function isActive(tx: Tx, version: number): Promise<boolean> {
  const row = await tx.db.selectFrom('policies').select('version').where('active', '=', 1).executeTakeFirst();
  return row?.version === version;
}

async function refused(tx: Tx, { call, cause }: Opening, why: Refusal): Promise<Opened> {
  const row = await lockLatestRequest(tx, call.operationId);
  if (row !== null) await closeRequest(tx, row, { state: 'refused', reason: `${why.code}: ${why.detail}` });
  tx.fact({ kind: 'call.refused', operationId: call.operationId, body: { ...proposalBody(call), ...why, cause } });
  return ended(why);
}

function free(tx: Tx, { call, active }: Opening): Opened {
  const body = { ...proposalBody(call), policyVersion: active?.version ?? null, because: 'no rule asks' };
  tx.fact({ kind: 'call.allowed', operationId: call.operationId, body });
  return { kind: 'state', state: { status: 'allowed', revision: 0 } };
}

type Asking = Opening & { readonly plan: OpeningPlan & { kind: 'ask' } };

async function ask(tx: Tx, opening: Asking, previous: RequestRow | null): Promise<Opened> {
  const { call, plan } = opening;
  // What was found stale right before its effect is asked about: no window covered it there.
  const covering = opening.cause === 'first' ? await coveringGrant(tx, opening) : null;
  if (covering !== null) {
    const body = { ...proposalBody(call), grant: covering, rule: ruleBody(plan.draft) };
    tx.fact({
      kind: 'call.allowed',
      operationId: call.operationId,
      body: { ...body, because: 'a live grant covers it' },
    });
    return { kind: 'state', state: { status: 'allowed', revision: 0 } };
  }
  const brake = previous === null ? await brakeOn(tx, call, plan.draft.bindingDigest) : null;
  if (brake !== null) return refused(tx, opening, brake);
  const life = nextLife(opening, previous, tx.nowMs);
  if (life.status === 'refused') {
    const why = refusal('UNSTABLE', { count: TURN_LIMITS.revisions, detail: opening.cause });
    return refused(tx, opening, why);
  }
  const staffed = staff(opening, life, tx.nowMs);
  if (staffed.status === 'refused') return refused(tx, opening, noReviewers(plan.draft));
  if (previous !== null) await supersede(tx, previous, opening.cause);
  return insertRequest(tx, opening, { life: staffed, previous });
}

async function coveringGrant(tx: Tx, { call, plan, active }: Asking): Promise<string | null> {
  if (asksOwnHuman(plan.draft.ask)) return null;
  const key = {
    requesterKey: call.requesterKey,
    bindingDigest: plan.draft.bindingDigest,
    operationId: call.operationId,
  };
  const grants = await usableGrants(tx, key);
  const emergencies = active === null ? [] : emergencyAsks(active.policy, plan.draft, plan.draft.ask);
  const match = grants.find((grant) => {
    const granted = termsOf(grant).ask;
    const like = askLike(granted, plan.draft.ask, emergencies);
    return grant.once_for === null && like !== null && sameRules(granted, like);
  });
  return match?.grant_id ?? null;
}

function nextLife({ plan, cause }: Asking, previous: RequestRow | null, nowMs: number): CallLife {
  const { bindingDigest: digest, ask: asked } = plan.draft;
  const schedule = { escalate: asked.escalate, deadline: asked.deadline };
  const first = open({ revision: 1, digest, schedule }, nowMs);
  if (previous === null || cause === 'first') return first;
  return transition(
    { ...first, status: 'allowed', revision: previous.revision },
    { type: 'stale', digest, schedule },
    nowMs,
  );
}

/** Steps the request to the first level that has enough people; refused where none has. */
function staff({ plan, active, call }: Asking, life: CallLife, nowMs: number): CallLife {
  if (active === null) return { ...life, status: 'refused' };
  const judgement = { ask: plan.draft.ask, requester: call.requester, policy: active.policy };
  let staffed = life;
  while (staffed.status === 'pending' && !enoughReviewers({ ...judgement, life: staffed }, active.trust)) {
    staffed = transition(staffed, { type: 'noReviewers' }, nowMs);
  }
  return staffed;
}

function noReviewers(draft: RequestDraft): Refusal {
  return refusal('NO_REVIEWERS', {
    rule: draft.ask.rule?.id ?? 'confirm',
    detail: 'nobody who may decide is left after leaving out those who stand behind the request',
  });
}

async function supersede(tx: Tx, row: RequestRow, cause: OpeningCause): Promise<void> {
  await tx.db
    .updateTable('requests')
    .set({ state: 'superseded', closed_at: tx.nowMs, closed_reason: cause })
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .execute();
  await tx.db
    .updateTable('grants')
    .set({ revoked_at: tx.nowMs, revoked_by: 'holdpoint', revoked_reason: cause })
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .where('revoked_at', 'is', null)
    .execute();
  tx.fact({
    kind: 'request.stale',
    operationId: row.operation_id,
    body: { revision: row.revision, cause, digest: row.binding_digest },
  });
  tx.emit(requestEvent('superseded', cardOf(row), { reason: cause }));
}

async function insertRequest(
  tx: Tx,
  opening: Asking,
  at: { life: CallLife; previous: RequestRow | null },
): Promise<Opened> {
  const { call, plan, cause } = opening;
  const { life, previous } = at;
  const previousVersion = previous === null ? null : versionOf(previous);
  const similar = await similarOperations(tx, { ...plan, requesterKey: call.requesterKey });
  // The operation is locked, so only the short id can be taken: by another open request.
  for (let attempt = 0; attempt < MOST_SHORT_IDS; attempt += 1) {
    const request: ApprovalRequest = {
      ...plan.draft,
      revision: life.revision,
      shortId: shortId(`${call.operationId}${'+'.repeat(attempt)}`, life.revision),
      openedAtMs: life.openedAtMs,
      deadlineAtMs: life.deadlineAtMs,
      similar,
      cause,
      previousResourceVersion:
        canonicalJson(previousVersion) === canonicalJson(plan.draft.resourceVersion) ? null : previousVersion,
    };
    const row = rowOf(call, request, life);
    const result = await tx.db
      .insertInto('requests')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (result.numInsertedOrUpdatedRows === 0n) continue;
    opened(tx, { call, request, row });
    return { kind: 'state', state: waitingState(request, life) };
  }
  throw new Error(`no short id is free for ${call.operationId}`);
}

const MOST_SHORT_IDS = 16;

function opened(
  tx: Tx,
  { call, request, row }: { call: CallRef; request: ApprovalRequest; row: ReturnType<typeof rowOf> },
): void {
  const { revision, bindingDigest, cause, policyVersion, deadlineAtMs } = request;
  if (revision === 1) tx.fact({ kind: 'call.proposed', operationId: call.operationId, body: proposalBody(call) });
  const at = { deadlineAtMs, level: row.level, dueAtMs: row.due_at };
  const digests = { card: textDigest(row.card), row: fixedOfRequest(row) };
  const body = { revision, bindingDigest, cause, policyVersion, ...at, rule: ruleBody(request), ...digests };
  tx.fact({ kind: 'request.opened', operationId: call.operationId, body });
  tx.emit(requestEvent('opened', request));
}

function rowOf(call: CallRef, request: ApprovalRequest, life: CallLife) {
  return {
    operation_id: call.operationId,
    revision: request.revision,
    state: 'pending' as const,
    short_id: request.shortId,
    requester_key: call.requesterKey,
    subject: call.requester.subject,
    agent: call.requester.agent,
    server: call.server,
    tool: call.tool,
    binding_digest: request.bindingDigest,
    arguments_digest: call.contentDigest,
    workflow_id: call.workflowId,
    call_id: call.callId,
    rule_id: request.ask.rule?.id ?? null,
    card: canonicalJson(jsonOf(request)),
    level: life.level,
    opened_at: life.openedAtMs,
    deadline_at: life.deadlineAtMs,
    due_at: life.dueAtMs,
    closed_at: null,
    closed_reason: null,
  };
}

function versionOf(row: RequestRow): JsonValue {
  return cardOf(row).resourceVersion;
}

function proposalBody(call: CallRef): JsonObject {
  const { requester, server, tool, contentDigest, workflowId, callId } = call;
  return { requester: { ...requester, chain: [...requester.chain] }, server, tool, contentDigest, workflowId, callId };
}

function ruleBody(request: Pick<ApprovalRequest, 'ask'>): JsonValue {
  const { rule, matched } = request.ask;
  return { asking: rule === null ? null : { ...rule }, matched: matched.map((entry) => ({ ...entry })) };
}

function ended(why: Refusal): Opened {
  return { kind: 'state', state: { status: 'ended', end: { outcome: 'refused', ...why } } };
}
