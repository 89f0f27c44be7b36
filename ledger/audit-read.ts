import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { AUDIT_CHAIN, type AuditHead, type AuditRecord } from './audit-record';
import type { Checkpoint } from './checkpoint';
import type { Database } from './schema';

const PAGE = 1_000;

export type AuditPart =
  | { readonly part: 'records'; readonly records: readonly AuditRecord[] }
  | { readonly part: 'head'; readonly head: AuditHead | null };

/**
 * The whole chain in pages, and then its head. Others may write meanwhile: a record and the head that names it are
 * committed at once, so the head is read after the records, until none has come in between.
 */
export async function* readChain(db: Kysely<Database>): AsyncGenerator<AuditPart> {
  let after = 0;
  let head: AuditHead | null = null;
  for (;;) {
    const records = await readAudit(db, { after, limit: PAGE });
    const last = records.at(-1);
    if (last !== undefined) {
      yield { part: 'records', records };
      after = last.seq;
      // Reading SQLite never waits, so the event loop gets its turn here.
      await nextTurn();
    } else if (head !== null && head.seq > after) {
      // It named more before this page was looked for, and there is none.
      break;
    } else {
      head = await readHead(db);
      if (head === null || head.seq <= after) break;
    }
  }
  yield { part: 'head', head };
}

/** The records after `after` in their order, at most `limit`. */
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
