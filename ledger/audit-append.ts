import { sql } from 'kysely';
import { AUDIT_CHAIN, chainHash, contentDigest } from './audit-record';
import { LedgerError } from './ledger-error';
import type { WriterPort } from './batch';

/** Writes the facts and events of a transaction, one statement each; the head is moved last. `ledger` is a name for messages. */
export function sqliteAppend(ledger: string): WriterPort['append'] {
  return async ({ db, nowMs }, { facts, events }) => {
    const head = await db.selectFrom('audit_heads').selectAll().where('chain', '=', AUDIT_CHAIN).executeTakeFirst();
    if (head === undefined) throw headMissing(ledger);
    if (events.length > 0) {
      const rows = events.map(({ id, type, body }) => ({ event_id: id, type, body, created_at: nowMs }));
      await db
        .insertInto('outbox')
        .values(rows)
        .onConflict((conflict) => conflict.column('event_id').doNothing())
        .execute();
    }
    if (facts.length === 0) return;
    let { seq, hash } = head;
    const rows = facts.map((fact) => {
      const prevHash = hash;
      seq += 1;
      hash = chainHash({ prevHash, seq, digest: contentDigest(nowMs, fact) });
      return {
        seq,
        at: nowMs,
        kind: fact.kind,
        operation_id: fact.operationId,
        body: fact.body,
        prev_hash: prevHash,
        hash,
      };
    });
    await db.insertInto('audit').values(rows).execute();
    await db.updateTable('audit_heads').set({ seq, hash }).where('chain', '=', AUDIT_CHAIN).execute();
  };
}

/** The same in one round trip: the function of the migration locks the head, then hashes and inserts. */
export function postgresAppend(ledger: string): WriterPort['append'] {
  return async ({ db, nowMs }, { facts, events }) => {
    const { rows: answers } = await sql<{ readonly seq: number | null }>`select ledger_append(
      ${AUDIT_CHAIN}, ${nowMs}::bigint,
      ${facts.map(({ kind }) => kind)}::text[],
      ${facts.map(({ operationId }) => operationId)}::text[],
      ${facts.map(({ body }) => body)}::text[],
      ${facts.map((fact) => contentDigest(nowMs, fact))}::text[],
      ${events.map(({ id }) => id)}::text[],
      ${events.map(({ type }) => type)}::text[],
      ${events.map(({ body }) => body)}::text[]
    ) as seq`.execute(db);
    if (typeof answers[0]?.seq !== 'number') throw headMissing(ledger);
  };
}

function headMissing(ledger: string): LedgerError {
  return new LedgerError('LEDGER_DAMAGED', { ledger, detail: 'the head of its audit chain is missing' });
}
