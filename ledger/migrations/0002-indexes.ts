import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  // Each new request counts the open ones of its human.
  "create index requests_open on requests (subject) where state = 'pending'",
  // An event that is removed takes its deliveries along; without an index each would be searched for.
  'create index deliveries_position on deliveries (position)',
  // A card names the latest operations like its own.
  'drop index operations_similar',
  'create index operations_similar on operations (similar_digest, dispatched_at)',
];

export async function addIndexes(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
