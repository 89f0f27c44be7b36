import { sql, type Kysely } from 'kysely';
import type { Store } from '../transaction';

/** Deliveries are pruned, so what became of them is counted beside. */
export async function addDeliveryResults(db: Kysely<unknown>, kind: Store['kind']): Promise<void> {
  const [int, text] = kind === 'sqlite' ? ['integer', 'text'] : ['bigint', 'text collate "C"'];
  const columns = [
    `channel ${text} not null default ''`,
    ...['delivered', 'failed', 'given_up'].map((name) => `${name} ${int} not null default 0`),
  ];
  for (const column of columns) await sql.raw(`alter table endpoints add column ${column}`).execute(db);
}
