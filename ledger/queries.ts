import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import { isJsonObject, parseStrictJson, type JsonObject } from '../core/json';
import type { ApprovalFacts } from '../core/outcome';
import type { ApprovalRequest, RequestStanding } from '../core/request';
import type { Policy } from '../core/policy';
import { liveGrants } from './grant-queries';
import { approvalOf, cardOf, countedOf, type OperationRow, type RequestRow } from './rows';
import type { Database, RequestRowState } from './schema';

/** The reading half of the ledger, for people: what the commands and pages show. Nothing here is written or locked. */
type Db = Kysely<Database>;

const MAX_OBJECT_BYTES = 8 * 1024 * 1024;

/** An approval request as it was asked, and where it stands. */
export interface RequestRecord {
  readonly request: ApprovalRequest;
  readonly standing: RequestStanding;
}

export interface RequestFilter {
  readonly state?: RequestRowState;
  readonly server?: string;
  readonly tool?: string;
  readonly subject?: string;
  /** A group or a person that is asked now, at the level which the request has reached. */
  readonly approver?: string;
  /** 200 by default. */
  readonly limit?: number;
}

/** Requests by when they were opened; the newest first where they are closed, the oldest first where they wait. */
export async function listRequests(db: Db, filter: RequestFilter = {}): Promise<readonly RequestRecord[]> {
  const { state = 'pending', approver, limit = 200 } = filter;
  const rows = await requestsThat(db, filter)
    .orderBy('opened_at', state === 'pending' ? 'asc' : 'desc')
    .orderBy('operation_id')
    // Who is asked stands in the card, so that filter comes after the others.
    .$if(approver === undefined, (query) => query.limit(limit))
    .execute();
  const records = rows.map(recordOf);
  if (approver === undefined) return records;
  return records.filter((record) => asks(record, approver)).slice(0, limit);
}

/** All but `approver`, who stands in the card, and `limit`. */
export function requestsThat(db: Db, { state = 'pending', server, tool, subject }: RequestFilter) {
  return db
    .selectFrom('requests')
    .selectAll()
    .where('state', '=', state)
    .$if(server !== undefined, (query) => query.where('server', '=', server ?? ''))
    .$if(tool !== undefined, (query) => query.where('tool', '=', tool ?? ''))
    .$if(subject !== undefined, (query) => query.where('subject', '=', subject ?? ''));
}

function asks({ request: { ask }, standing }: RequestRecord, approver: string): boolean {
  const reached = ask.escalate.slice(0, standing.level).map((level) => level.to);
  const steps = ask.steps.map((step) =>
    step.kind === 'confirm' ? { groups: [], people: [step.subject] } : step.approvers,
  );
  return [...steps, ...reached].some(({ groups, people }) => groups.includes(approver) || people.includes(approver));
}

/** Every revision of an operation's approval request, the first one first; empty where nobody was asked. */
export async function revisionsOf(db: Db, operationId: string): Promise<readonly RequestRecord[]> {
  const query = db.selectFrom('requests').selectAll().where('operation_id', '=', operationId).orderBy('revision');
  return (await query.execute()).map(recordOf);
}

export function recordOf(row: RequestRow): RequestRecord {
  const open = row.state === 'pending';
  return {
    request: cardOf(row),
    standing: {
      state: row.state,
      level: row.level,
      dueAtMs: open ? row.due_at : null,
      closedAtMs: row.closed_at,
      closedReason: row.closed_reason,
    },
  };
}

/** A decision that counts. `verified`: signed by a key of the reviewer. */
export interface DecisionRecord {
  readonly decisionId: string;
  readonly revision: number;
  readonly reviewer: string;
  readonly answer: 'allow' | 'deny';
  readonly reason: string | null;
  readonly channel: string;
  readonly verified: boolean;
  readonly minutes: number | null;
  /** The emergency rule under which it allows; null where it answers what the request asks. */
  readonly emergency: string | null;
  readonly atMs: number;
}

/** The decisions of every revision, in the order in which they were recorded. */
export async function decisionsOn(db: Db, operationId: string): Promise<readonly DecisionRecord[]> {
  const rows = await db
    .selectFrom('decisions')
    .selectAll()
    .where('operation_id', '=', operationId)
    .orderBy('decided_at')
    .orderBy('decision_id')
    .execute();
  return rows.map((row) => ({
    ...countedOf(row),
    revision: row.revision,
    reason: row.reason,
    channel: row.channel,
    atMs: row.decided_at,
  }));
}

/** An operation that was sent; the tool's own result stays where it is. */
export interface OperationRecord {
  readonly operationId: string;
  readonly state: OperationRow['state'];
  readonly requester: { readonly subject: string; readonly agent: string };
  readonly server: string;
  readonly tool: string;
  readonly workflowId: string;
  readonly callId: string;
  readonly attempt: number;
  readonly dispatchedAtMs: number;
  readonly endedAtMs: number | null;
  readonly evidence: string | null;
  readonly detail: string | null;
  readonly settledBy: string | null;
  /** True where the tool itself answered with an error; null where it gave no answer. */
  readonly isError: boolean | null;
  readonly approval: ApprovalFacts | null;
}

/** The operation of this id; null where it was never sent. */
export async function operationRecord(db: Db, operationId: string): Promise<OperationRecord | null> {
  const [record] = await operations(db, (query) => query.where('operation_id', '=', operationId));
  return record ?? null;
}

/** Operations whose outcome a person has to settle, the oldest first. */
export async function unknownOperations(db: Db): Promise<readonly OperationRecord[]> {
  return operations(db, (query) => query.where('state', '=', 'unknown').orderBy('dispatched_at'));
}

type OperationQuery = SelectQueryBuilder<Database, 'operations', OperationRow>;

async function operations(
  db: Db,
  narrow: (query: OperationQuery) => OperationQuery,
): Promise<readonly OperationRecord[]> {
  const rows = await narrow(db.selectFrom('operations').selectAll()).execute();
  return rows.map(recordOfOperation);
}

export function recordOfOperation(row: OperationRow): OperationRecord {
  return {
    operationId: row.operation_id,
    state: row.state,
    requester: { subject: row.subject, agent: row.agent },
    server: row.server,
    tool: row.tool,
    workflowId: row.workflow_id,
    callId: row.call_id,
    attempt: row.attempt,
    dispatchedAtMs: row.dispatched_at,
    endedAtMs: row.ended_at,
    evidence: row.evidence,
    detail: row.detail,
    settledBy: row.settled_by,
    isError: row.result_is_error === null ? null : row.result_is_error === 1,
    approval: approvalOf(row),
  };
}

/** One fact of the audit chain, read back. */
export interface Fact {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: string;
  readonly body: JsonObject;
}

/** Everything on record of one operation, in the order of commits. */
export async function factsOf(db: Db, operationId: string): Promise<readonly Fact[]> {
  const rows = await db
    .selectFrom('audit')
    .select(['seq', 'at', 'kind', 'body'])
    .where('operation_id', '=', operationId)
    .orderBy('seq')
    .execute();
  return rows.map(({ seq, at, kind, body }) => ({ seq, atMs: at, kind, body: objectOf(body) }));
}

/** A JSON object as it was stored; the chain's own check finds what is not one any more. */
function objectOf(text: string): JsonObject {
  const json = parseStrictJson(text, { maxBytes: MAX_OBJECT_BYTES });
  return json.ok && isJsonObject(json.value) ? json.value : {};
}

/** A turn that the ledger knows: whose it is, and under which workflow id. */
export interface KnownTurn {
  readonly subject: string;
  readonly workflowId: string;
}

/** The turns of this id: by the rows of their calls, else by the facts of calls that left none, such as refused ones. */
export async function turnsOf(db: Db, turnId: string): Promise<readonly KnownTurn[]> {
  const prefix = `${turnId}~`;
  const columns = ['subject', 'workflow_id as workflowId'] as const;
  const rows = await db
    .selectFrom('requests')
    .select(columns)
    .where('workflow_id', '>=', prefix)
    .where('workflow_id', '<', `${prefix}\u{10ffff}`)
    .union(
      db
        .selectFrom('operations')
        .select(columns)
        .where('workflow_id', '>=', prefix)
        .where('workflow_id', '<', `${prefix}\u{10ffff}`),
    )
    .execute();
  return rows.length > 0 ? rows : recordedTurns(db, prefix);
}

/** Reads the whole audit: no index leads from a turn to facts alone. */
async function recordedTurns(db: Db, prefix: string): Promise<readonly KnownTurn[]> {
  const inBody = JSON.stringify(prefix)
    .slice(0, -1)
    .replace(/[\\%_]/g, '\\$&');
  const rows = await db
    .selectFrom('audit')
    .select('body')
    .where('kind', 'in', ['call.refused', 'call.allowed'])
    .where(sql<boolean>`body like ${`%"workflowId":${inBody}%`} escape '\\'`)
    .execute();
  const turns = rows.flatMap(({ body }) => {
    const { requester, workflowId } = objectOf(body);
    const subject = requester !== undefined && isJsonObject(requester) ? requester['subject'] : undefined;
    const isTurn = typeof workflowId === 'string' && workflowId.startsWith(prefix) && typeof subject === 'string';
    return isTurn ? [{ subject, workflowId }] : [];
  });
  return [...new Map(turns.map((turn) => [turn.workflowId, turn])).values()];
}

/** The file of the active policy as it was applied; null where no policy is active. */
export async function activePolicyText(db: Db): Promise<{ readonly fileName: string; readonly text: string } | null> {
  const query = db.selectFrom('policies').select(['file_name as fileName', 'text']).where('active', '=', 1);
  return (await query.executeTakeFirst()) ?? null;
}

/** How much is on record, by state. */
export interface LedgerCounts {
  readonly requests: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, number>>;
  readonly liveGrants: number;
  readonly auditRecords: number;
}

export async function ledgerCounts(db: Db, nowMs: number, policy: Policy | null): Promise<LedgerCounts> {
  const [requests, operationStates, grants, head] = await Promise.all([
    db
      .selectFrom('requests')
      .select(['state', db.fn.countAll<number>().as('count')])
      .groupBy('state')
      .execute(),
    db
      .selectFrom('operations')
      .select(['state', db.fn.countAll<number>().as('count')])
      .groupBy('state')
      .execute(),
    liveGrants(db, nowMs, policy),
    db.selectFrom('audit_heads').select('seq').executeTakeFirst(),
  ]);
  return {
    requests: byState(requests),
    operations: byState(operationStates),
    liveGrants: grants.length,
    auditRecords: head?.seq ?? 0,
  };
}

function byState(
  rows: readonly { readonly state: string; readonly count: number }[],
): Readonly<Record<string, number>> {
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
