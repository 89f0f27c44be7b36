import type { Kysely } from 'kysely';
import type { Database } from './schema';

/**
 * A random id, made when the ledger was. Temporal keeps it too: another one there means that this ledger is not the one
 * which sent the operations.
 */
export async function readEpoch(db: Kysely<Database>): Promise<string> {
  const row = await db.selectFrom('meta').select('value').where('key', '=', 'epoch').executeTakeFirstOrThrow();
  return row.value;
}
