import { sql, type Kysely } from 'kysely';
import type { Store } from '../transaction';

export async function addRetrospectives(db: Kysely<unknown>, kind: Store['kind']): Promise<void> {
  const [int, text, end] = kind === 'sqlite' ? ['integer', 'text', 'strict'] : ['bigint', 'text collate "C"', ''];
  const columns = [
    `grant_id ${text} primary key references grants (grant_id)`,
    `operation_id ${text} not null`,
    `rule_id ${text} not null`,
    `ticket ${text} not null`,
    `reason ${text} not null`,
    `skipped ${text} not null`,
    `opened_at ${int} not null`,
    `due_at ${int} not null`,
    `closed_at ${int}`,
    `closed_by ${text}`,
    `finding ${text} check (finding in ('justified', 'notJustified'))`,
    `note ${text}`,
  ];
  const statements = [
    `create table retrospectives (${columns.join(', ')}) ${end}`,
    'create index retrospectives_operation on retrospectives (operation_id)',
    'create index retrospectives_open on retrospectives (due_at) where closed_at is null',
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
