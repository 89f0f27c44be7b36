import { sql, type Kysely } from 'kysely';

/** An event that is removed takes its deliveries along; without an index each would be searched for. */
export async function indexDeliveries(db: Kysely<unknown>): Promise<void> {
  await sql`create index deliveries_position on deliveries (position)`.execute(db);
}
