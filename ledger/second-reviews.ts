import type { Kysely } from 'kysely';
import { isSampled } from '../core/second-review';
import type { ApprovalRequest } from '../core/request';
import { bodyOf } from './fact-columns';
import { cardOf, coveringGrantId, type RequestRow } from './rows';
import type { Database } from './schema';

type Db = Kysely<Database>;

/** A decided request that is in the sample, and what came of its second review. */
export interface SampledDecision {
  readonly request: ApprovalRequest;
  readonly answer: 'allow' | 'deny';
  readonly deciders: readonly string[];
  readonly decidedAtMs: number;
  readonly second: SecondReview | null;
}

/** What somebody would have answered who did not know what was. */
export interface SecondReview {
  readonly answer: 'allow' | 'deny';
  readonly by: string;
  readonly note: string;
  readonly atMs: number;
}

/** Of the latest decided requests that are looked at, and of the sample among them. */
const MOST_READ = 2_000;
const MOST = 200;

/** The sample among what people decided since then, the latest first. */
export async function sampledDecisions(
  db: Db,
  { share, sinceMs }: { readonly share: number; readonly sinceMs: number },
): Promise<readonly SampledDecision[]> {
  const rows = await db
    .selectFrom('requests')
    .innerJoin('audit', 'audit.operation_id', 'requests.operation_id')
    .select(['requests.operation_id as operationId', 'requests.revision', 'audit.hash', 'audit.body'])
    .where('requests.state', 'in', ['allowed', 'denied'])
    .where('requests.closed_at', '>=', sinceMs)
    .where('audit.kind', 'in', ['request.allowed', 'request.denied'])
    .orderBy('requests.closed_at', 'desc')
    .limit(MOST_READ)
    .execute();
  const sampled = rows.filter(
    ({ hash, body, revision }) => isSampled(hash, share) && bodyOf(body)['revision'] === revision,
  );
  const found = await Promise.all(sampled.slice(0, MOST).map((place) => sampledDecision(db, place)));
  return found.filter((decision) => decision !== null);
}

/** One decided request, sampled or not; null where people did not decide it. */
export async function sampledDecision(
  db: Db,
  { operationId, revision }: { readonly operationId: string; readonly revision: number },
): Promise<(SampledDecision & { readonly factHash: string }) | null> {
  const row = await db
    .selectFrom('requests')
    .selectAll()
    .where('operation_id', '=', operationId)
    .where('revision', '=', revision)
    .where('state', 'in', ['allowed', 'denied'])
    .executeTakeFirst();
  if (row === undefined || coveringGrantId(row) !== null) return null;
  const facts = await db
    .selectFrom('audit')
    .select(['hash', 'body'])
    .where('operation_id', '=', operationId)
    .where('kind', '=', `request.${row.state}`)
    .execute();
  const closing = facts.find(({ body }) => bodyOf(body)['revision'] === revision);
  return closing === undefined ? null : { ...(await decisionOf(db, row)), factHash: closing.hash };
}

async function decisionOf(db: Db, row: RequestRow): Promise<SampledDecision> {
  const answer = row.state === 'allowed' ? 'allow' : 'deny';
  const decisions = await db
    .selectFrom('decisions')
    .select('reviewer')
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .where('answer', '=', answer)
    .execute();
  return {
    request: cardOf(row),
    answer,
    deciders: decisions.map(({ reviewer }) => reviewer),
    decidedAtMs: row.closed_at ?? 0,
    second: await secondOf(db, row),
  };
}

async function secondOf(db: Db, row: Pick<RequestRow, 'operation_id' | 'revision'>): Promise<SecondReview | null> {
  const found = await db
    .selectFrom('second_reviews')
    .selectAll()
    .where('operation_id', '=', row.operation_id)
    .where('revision', '=', row.revision)
    .executeTakeFirst();
  if (found === undefined) return null;
  return { answer: found.answer, by: found.reviewer, note: found.note, atMs: found.reviewed_at };
}
