import { sql, type Kysely } from 'kysely';
import type { Store } from '../transaction';

export async function addSecondLooks(db: Kysely<unknown>, kind: Store['kind']): Promise<void> {
  const [int, text, end] = kind === 'sqlite' ? ['integer', 'text', 'strict'] : ['bigint', 'text collate "C"', ''];
  const statements = [
    `create table reversals (
      operation_id ${text} primary key, reported_by ${text} not null, reason ${text} not null, reported_at ${int} not null
    ) ${end}`,
    `create table second_reviews (
      operation_id ${text} not null, revision ${int} not null, answer ${text} not null check (answer in ('allow', 'deny')),
      agrees ${int} not null check (agrees in (0, 1)), reviewer ${text} not null, note ${text} not null,
      reviewed_at ${int} not null, primary key (operation_id, revision)
    ) ${end}`,
    // The sample is drawn from the latest decisions.
    "create index requests_decided on requests (closed_at) where state in ('allowed', 'denied')",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
