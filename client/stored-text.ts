import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { READ_RESULT, type ReadResult, type ResultChunk } from '../workflows/messages';

/** What is read: an operation's result, or with a revision the card of that revision; its requester's subject. */
export interface StoredText {
  readonly operationId: string;
  readonly revision?: number;
  readonly subject: string;
  readonly taskQueue: string;
}

type Read = (input: ReadResult) => Promise<ResultChunk | null>;

/** Reads a text that was too large to travel with its turn, chunk by chunk; null where the ledger has none. */
export async function readStoredText(client: Client, { taskQueue, ...wanted }: StoredText): Promise<string | null> {
  const chunks: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const chunk: ResultChunk | null = await client.workflow.execute<Read>(READ_RESULT, {
      workflowId: `result/${wanted.operationId}/${randomUUID()}`,
      taskQueue,
      args: [{ ...wanted, offset }],
    });
    if (chunk === null) return null;
    chunks.push(chunk.text);
    offset = chunk.next;
  }
  return chunks.join('');
}
