import type { Kysely } from 'kysely';
import type { ApprovalRequest } from '../core/request';
import type { Finding } from '../core/retrospective';
import { cardOf, skippedOf, termsOf } from './rows';
import type { Database } from './schema';

type Db = Kysely<Database>;

/** An emergency and its review, as it stands. */
export interface RetrospectiveRecord {
  /** Of the grant that was given; it names the emergency. */
  readonly grantId: string;
  readonly operationId: string;
  readonly revision: number;
  readonly server: string;
  readonly tool: string;
  /** As it was asked of those who were skipped. */
  readonly request: ApprovalRequest;
  readonly rule: string;
  readonly ticket: string;
  readonly reason: string;
  readonly deciders: readonly string[];
  /** Who would have been asked, as of the emergency. */
  readonly skipped: readonly string[];
  /** How often something was sent under it. */
  readonly uses: number;
  readonly openedAtMs: number;
  readonly dueAtMs: number;
  readonly closed: {
    readonly atMs: number;
    readonly by: string;
    readonly finding: Finding;
    readonly note: string;
  } | null;
}

const MOST = 200;

/** Emergencies whose review is open, the first due first; with `all`, the latest 200, the newest first. */
export async function listRetrospectives(db: Db, { all = false } = {}): Promise<readonly RetrospectiveRecord[]> {
  const query = retrospectives(db);
  const rows = all
    ? query.orderBy('retrospectives.opened_at', 'desc').limit(MOST)
    : query.where('retrospectives.closed_at', 'is', null).orderBy('retrospectives.due_at');
  return (await rows.execute()).map(recordOf);
}

/** The emergencies of one operation, the first one first. */
export async function retrospectivesOf(db: Db, operationId: string): Promise<readonly RetrospectiveRecord[]> {
  const query = retrospectives(db).where('retrospectives.operation_id', '=', operationId);
  return (await query.orderBy('retrospectives.opened_at').execute()).map(recordOf);
}

function retrospectives(db: Db) {
  return db
    .selectFrom('retrospectives')
    .innerJoin('grants', 'grants.grant_id', 'retrospectives.grant_id')
    .innerJoin('requests', (join) =>
      join
        .onRef('requests.operation_id', '=', 'grants.operation_id')
        .onRef('requests.revision', '=', 'grants.revision'),
    )
    .selectAll('retrospectives')
    .select(['grants.revision', 'grants.server', 'grants.tool', 'grants.terms', 'grants.uses', 'requests.card']);
}

type Row = Awaited<ReturnType<ReturnType<typeof retrospectives>['execute']>>[number];

function recordOf(row: Row): RetrospectiveRecord {
  const { closed_at: atMs, closed_by: by, finding, note } = row;
  return {
    grantId: row.grant_id,
    operationId: row.operation_id,
    revision: row.revision,
    server: row.server,
    tool: row.tool,
    request: cardOf(row),
    rule: row.rule_id,
    ticket: row.ticket,
    reason: row.reason,
    deciders: termsOf(row).deciders,
    skipped: skippedOf(row),
    uses: row.uses,
    openedAtMs: row.opened_at,
    dueAtMs: row.due_at,
    closed: atMs === null || by === null || finding === null ? null : { atMs, by, finding, note: note ?? '' },
  };
}

/** The emergency whose review should have been closed first of all those that are overdue; null where none is. */
export async function overdueRetrospective(
  db: Db,
  nowMs: number,
): Promise<{ readonly id: string; readonly dueAtMs: number } | null> {
  const row = await db
    .selectFrom('retrospectives')
    .select(['grant_id as id', 'due_at as dueAtMs'])
    .where('closed_at', 'is', null)
    .where('due_at', '<=', nowMs)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}
