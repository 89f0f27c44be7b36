import type { ReadResult, ResultChunk } from '../workflows/messages';
import type { Dependencies } from './dependencies';

/** A chunk has at most 1.5 MB in UTF-8 whatever the text holds: a payload has at most 2 MB. */
const CHUNK_UNITS = 500_000;

/** One chunk of a stored result; null where there is none, or it belongs to another requester. Only reads. */
export async function readResultChunk(
  deps: Dependencies,
  { operationId, subject, offset }: ReadResult,
): Promise<ResultChunk | null> {
  const operation = await deps.ledger.operation(operationId);
  if (operation === null || operation.subject !== subject || operation.result === null) return null;
  // JSON text escapes no character beyond the basic plane, so a chunk must not end within a surrogate pair.
  const rest = operation.result.slice(offset, offset + CHUNK_UNITS);
  const text = /[\ud800-\udbff]$/.test(rest) ? rest.slice(0, -1) : rest;
  const next = offset + text.length;
  return { text, next: next < operation.result.length ? next : null };
}
