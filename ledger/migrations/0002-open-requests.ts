import { sql, type Kysely } from 'kysely';

/** Each new request counts the open ones of its human. */
export async function indexOpenRequests(db: Kysely<unknown>): Promise<void> {
  await sql`create index requests_open on requests (subject) where state = 'pending'`.execute(db);
}
