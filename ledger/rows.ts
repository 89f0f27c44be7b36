import type { Selectable } from 'kysely';
import type { CallLife, CallStatus } from '../core/call';
import type { CallState } from '../core/call-state';
import type { Refusal } from '../core/errors';
import type { GrantTerms } from '../core/grant';
import type { JsonObject, JsonValue } from '../core/json';
import type { Decision } from '../core/decision';
import type { CountedDecision } from '../core/judge-decision';
import type { ApprovalFacts, CallOutcome, Evidence, ToolResult } from '../core/outcome';
import type { OutcomeContract, Policy, ServerEntry } from '../core/policy';
import { requesterCopy, type ApprovalRequest } from '../core/request';
import { TURN_LIMITS } from '../core/turn';
import { unreachable } from '../core/unreachable';
import type {
  DecisionsTable,
  GrantsTable,
  OperationsTable,
  PoliciesTable,
  RequestsTable,
  RetrospectivesTable,
  ReversalsTable,
  SecondReviewsTable,
} from './schema';
import { textDigest } from './text-digest';

export type RequestRow = Selectable<RequestsTable>;
export type DecisionRow = Selectable<DecisionsTable>;
export type GrantRow = Selectable<GrantsTable>;
export type OperationRow = Selectable<OperationsTable>;
export type RetrospectiveRow = Selectable<RetrospectivesTable>;
export type ReversalRow = Selectable<ReversalsTable>;
export type SecondReviewRow = Selectable<SecondReviewsTable>;

/** The request as it was asked. Rows are written by this package in canonical form, so parsing them needs no schema. */
export function cardOf(row: Pick<RequestRow, 'card'>): ApprovalRequest {
  const known = cards.get(row);
  if (known !== undefined) return known;
  const card = JSON.parse(row.card) as ApprovalRequest;
  cards.set(row, card);
  return card;
}

/** A command looks at a card several times. */
const cards = new WeakMap<object, ApprovalRequest>();

export function termsOf(row: Pick<GrantRow, 'terms'>): GrantTerms {
  return JSON.parse(row.terms) as GrantTerms;
}

export function approvalOf(row: OperationRow): ApprovalFacts | null {
  return row.approval === null ? null : (JSON.parse(row.approval) as ApprovalFacts);
}

export function countedOf(row: DecisionRow): CountedDecision {
  const { minutes = null, emergency } = messageOf(row);
  const { decision_id: decisionId, reviewer, answer } = row;
  return { decisionId, reviewer, answer, verified: row.verified === 1, minutes, emergency: emergency?.rule ?? null };
}

/** The life of a request row; `superseded` never is the latest revision, so it has no place in a life. */
export function lifeOf(row: RequestRow): CallLife {
  const status: CallStatus = row.state === 'superseded' ? 'refused' : row.state;
  const { ask } = cardOf(row);
  return {
    status,
    revision: row.revision,
    digest: row.binding_digest,
    openedAtMs: row.opened_at,
    deadlineAtMs: row.deadline_at,
    level: row.level,
    dueAtMs: row.due_at,
    schedule: { escalate: ask.escalate, deadline: ask.deadline },
  };
}

const COVERED = 'covered by grant ';

/** Why a request is closed that the window of another one answers. */
export function coveredReason(grantId: string): string {
  return `${COVERED}${grantId}`;
}

/** The grant of another request that answered this one; null where its own decisions did, or nothing has yet. */
export function coveringGrantId({ state, closed_reason: reason }: RequestRow): string | null {
  return state === 'allowed' && reason?.startsWith(COVERED) === true ? reason.slice(COVERED.length) : null;
}

/** The state of a call that waits for people, as its turn gets it. */
export function waitingState(card: ApprovalRequest, at: { level: number; dueAtMs: number }): CallState {
  return { status: 'pending', request: requesterCopy(card), level: at.level, dueAtMs: at.dueAtMs };
}

/** The state of a call whose latest request row is `row` and that was not sent. */
export function stateOfRequest(row: RequestRow, decisions: readonly DecisionRow[]): CallState {
  switch (row.state) {
    case 'pending':
      return waitingState(cardOf(row), { level: row.level, dueAtMs: row.due_at });
    case 'allowed':
      return { status: 'allowed', revision: row.revision };
    case 'denied': {
      const deny = decisions.find((decision) => decision.answer === 'deny' && decision.revision === row.revision);
      return {
        status: 'ended',
        end: { outcome: 'denied', reason: deny?.reason ?? null, deciders: deny === undefined ? [] : [deny.reviewer] },
      };
    }
    case 'expired':
      return { status: 'ended', end: expiredOf(row, decisions) };
    case 'withdrawn':
      return { status: 'ended', end: { outcome: 'withdrawn', detail: row.closed_reason ?? 'withdrawn' } };
    case 'refused':
    case 'superseded':
      return { status: 'ended', end: refusedOf(row) };
    default:
      return unreachable(row.state);
  }
}

function expiredOf(row: RequestRow, decisions: readonly DecisionRow[]): CallOutcome {
  const end = { outcome: 'expired', detail: row.closed_reason ?? 'the deadline passed' } as const;
  const counted = decisions.filter(({ answer, revision }) => answer === 'allow' && revision === row.revision);
  const allows = new Set(counted.map(({ reviewer }) => reviewer)).size;
  const needed = cardOf(row).ask.steps.map((step) => (step.kind === 'confirm' ? 1 : step.approvers.quorum));
  return allows === 0 ? end : { ...end, counted: { allows, needed: needed.reduce((sum, each) => sum + each, 0) } };
}

function refusedOf(row: RequestRow): CallOutcome {
  const [code, ...detail] = (row.closed_reason ?? 'UNSTABLE: closed').split(': ');
  return { outcome: 'refused', code: code as 'UNSTABLE', detail: detail.join(': ') };
}

/** The refusal in a fact `call.refused`, and the content that was refused. */
export function refusedFactOf(body: string): Refusal & { readonly contentDigest: string } {
  return JSON.parse(body) as Refusal & { readonly contentDigest: string };
}

/** The body of any fact, as it was stored. */
export function factBodyOf(body: string): JsonValue {
  return JSON.parse(body) as JsonValue;
}

/** Why a call was taken back that left no row. */
export function withdrawnFactOf(body: string): { readonly reason: string } {
  return JSON.parse(body) as { readonly reason: string };
}

/** The state of a call that was sent. */
export function stateOfOperation(row: OperationRow, lookUpAtMs: number): CallState {
  const approval = approvalOf(row);
  switch (row.state) {
    case 'dispatched':
      return { status: 'dispatched', lookUpAtMs };
    case 'executed':
      return {
        status: 'ended',
        end: { outcome: 'executed', result: resultOf(row), evidence: evidenceOf(row), approval },
      };
    case 'failed':
      return {
        status: 'ended',
        end: { outcome: 'failed', detail: row.detail ?? '', evidence: evidenceOf(row), approval },
      };
    case 'unknown':
      return { status: 'ended', end: { outcome: 'unknown', detail: row.detail ?? '', approval } };
    default:
      return unreachable(row.state);
  }
}

function resultOf(row: OperationRow): ToolResult | null {
  return row.result === null ? null : toolResultOf(row.result, row.result_is_error === 1);
}

/** The whole result of an operation, however long; null where there is none. */
export function wholeResultOf({ result, result_is_error: isError }: OperationRow): ToolResult | null {
  if (result === null) return null;
  const value = JSON.parse(result) as JsonValue;
  return {
    kind: 'inline',
    value,
    digest: textDigest(result),
    bytes: Buffer.byteLength(result),
    isError: isError === 1,
  };
}

/** A tool's result, given as JSON text, as it travels to a turn; what is longer than any turn takes is only named. */
export function toolResultOf(text: string, isError: boolean): ToolResult {
  const named = { digest: textDigest(text), bytes: Buffer.byteLength(text), isError };
  if (named.bytes > TURN_LIMITS.resultBytesInHistory) return { kind: 'stored', ...named };
  return { kind: 'inline', value: JSON.parse(text) as JsonValue, ...named };
}

function evidenceOf(row: OperationRow): Evidence {
  return (row.evidence ?? 'answer') as Evidence;
}

/** What a look-up needs, as of dispatch: the server and the declared contract, and the call's arguments that it reads. */
export interface LookUp {
  readonly v: 1;
  readonly server: ServerEntry;
  readonly contract: OutcomeContract;
  readonly arguments: JsonObject;
  readonly idempotent: boolean;
}

export function contractOf(row: OperationRow): LookUp | null {
  return row.look_up === null ? null : (JSON.parse(row.look_up) as LookUp);
}

/** A decision as its reviewer sent it. */
export function messageOf(row: DecisionRow): Decision {
  return JSON.parse(row.message) as Decision;
}

/** The names of those whom an emergency skipped. */
export function skippedOf(row: Pick<RetrospectiveRow, 'skipped'>): readonly string[] {
  return JSON.parse(row.skipped) as readonly string[];
}

/** Sums used of a window, by material field. */
export function totalsOf(row: GrantRow): Readonly<Record<string, number>> {
  return JSON.parse(row.totals) as Record<string, number>;
}

/** A policy as it was compiled when it was applied. */
export function compiledOf(row: Pick<PoliciesTable, 'compiled'>): Policy {
  return JSON.parse(row.compiled) as Policy;
}
