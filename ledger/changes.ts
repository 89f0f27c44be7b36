import type { Kysely } from 'kysely';
import { readHead } from './audit-read';
import type { Database } from './schema';

/** What a fact of the audit chain is about; what it says is read where somebody may see it. */
export interface ChangeRecord {
  readonly seq: number;
  readonly kind: string;
  readonly operationId: string | null;
}

/** The number of the newest fact; 0 where there is none. A fact is seen with every one before it, never ahead of one. */
export async function latestSeq(db: Kysely<Database>): Promise<number> {
  return (await readHead(db))?.seq ?? 0;
}

/** What changed after fact `after`, in the order of commits, at most `limit`. */
export async function changesAfter(
  db: Kysely<Database>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly ChangeRecord[]> {
  return db
    .selectFrom('audit')
    .select(['seq', 'kind', 'operation_id as operationId'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute();
}
