import { cut } from '../core/display';
import { canonicalJson } from '../core/json';
import { jsonOf } from '../core/json-record';
import { requesterCopy } from '../core/request';
import { cardOf } from '../ledger/rows';
import type { ReadResult, ResultChunk } from '../workflows/messages';
import type { Dependencies } from './dependencies';

/** A chunk has at most 1.5 MB in UTF-8 whatever the text holds: a payload has at most 2 MB. */
const CHUNK_UNITS = 500_000;

/** One chunk of a stored result or card; null where there is none, or it belongs to another requester. Only reads. */
export async function readResultChunk(
  deps: Dependencies,
  { offset, ...wanted }: ReadResult,
): Promise<ResultChunk | null> {
  const stored = await (wanted.revision === undefined ? storedResult(deps, wanted) : storedCard(deps, wanted));
  if (stored === null) return null;
  // JSON text escapes no character beyond the basic plane, so a chunk must not end within a surrogate pair.
  const text = cut(stored.slice(offset, offset + CHUNK_UNITS + 1), CHUNK_UNITS);
  const next = offset + text.length;
  return { text, next: next < stored.length ? next : null };
}

type Wanted = Omit<ReadResult, 'offset'>;

async function storedResult({ ledger }: Dependencies, { operationId, subject }: Wanted): Promise<string | null> {
  const operation = await ledger.operation(operationId);
  return operation?.subject === subject ? operation.result : null;
}

async function storedCard(
  { ledger }: Dependencies,
  { operationId, subject, revision = 1 }: Wanted,
): Promise<string | null> {
  const row = await ledger.store.db
    .selectFrom('requests')
    .select('card')
    .where('operation_id', '=', operationId)
    .where('revision', '=', revision)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row === undefined ? null : canonicalJson(jsonOf(requesterCopy(cardOf(row))));
}
