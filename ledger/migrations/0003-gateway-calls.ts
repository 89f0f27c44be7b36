import { sql, type Kysely } from 'kysely';
import type { Store } from '../transaction';

export async function addGatewayCalls(db: Kysely<unknown>, kind: Store['kind']): Promise<void> {
  const [int, text, end] = kind === 'sqlite' ? ['integer', 'text', 'strict'] : ['bigint', 'text collate "C"', ''];
  const columns = [
    `call_key ${text} primary key`,
    `turn_id ${text} not null`,
    `operation_id ${text} not null`,
    `opened_at ${int} not null`,
    `delivered_at ${int}`,
  ];
  await sql.raw(`create table gateway_calls (${columns.join(', ')}) ${end}`).execute(db);
}
