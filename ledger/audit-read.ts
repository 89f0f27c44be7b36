import type { Kysely } from 'kysely';
import { AUDIT_CHAIN, type AuditHead, type AuditRecord } from './audit-record';
import type { Checkpoint } from './checkpoint';
import type { Database } from './schema';

/** The records after `seq` in their order, at most `limit`. */
export async function readAudit(
  db: Kysely<Database>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly AuditRecord[]> {
  return db
    .selectFrom('audit')
    .select(['seq', 'at', 'kind', 'operation_id as operationId', 'body', 'prev_hash as prevHash', 'hash'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute();
}

export async function readHead(db: Kysely<Database>): Promise<AuditHead | null> {
  const head = await db
    .selectFrom('audit_heads')
    .select(['seq', 'hash'])
    .where('chain', '=', AUDIT_CHAIN)
    .executeTakeFirst();
  return head ?? null;
}

export async function readCheckpoints(db: Kysely<Database>): Promise<readonly Checkpoint[]> {
  return db
    .selectFrom('checkpoints')
    .select(['seq', 'hash', 'at', 'key_id as keyId', 'signature'])
    .orderBy('seq')
    .execute();
}
