import { createHash, randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { JsonValue } from '../core/json';
import { READ_RESULT, type ReadResult, type ResultChunk } from '../workflows/messages';
import { holdpointError } from './errors';

export interface StoredResult {
  readonly operationId: string;
  readonly subject: string;
  readonly taskQueue: string;
  readonly bytes: number;
  readonly digest: string;
}

/** Reads a result that was too large for a history, chunk by chunk, and checks it against the digest that the turn holds. */
export async function readStoredResult(client: Client, stored: StoredResult): Promise<JsonValue> {
  const { operationId, subject, taskQueue } = stored;
  const hash = createHash('sha256');
  const chunks: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const chunk: ResultChunk | null = await client.workflow.execute<(input: ReadResult) => Promise<ResultChunk | null>>(
      READ_RESULT,
      {
        workflowId: `result/${operationId}/${randomUUID()}`,
        taskQueue,
        args: [{ operationId, subject, offset }],
      },
    );
    if (chunk === null) throw holdpointError('RESULT_GONE', { operation: operationId });
    chunks.push(chunk.text);
    hash.update(chunk.text);
    offset = chunk.next;
  }
  if (`sha256:${hash.digest('hex')}` !== stored.digest) throw holdpointError('RESULT_GONE', { operation: operationId });
  return parsed(chunks.join(''));
}

/** JSON that this package wrote, and whose digest has been checked. */
function parsed(text: string): JsonValue {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a parser
  return JSON.parse(text) as JsonValue;
}
