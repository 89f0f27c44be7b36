import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { JsonValue } from '../core/json';
import type { ApprovalRequest } from '../core/request';
import { holdpointError } from './errors';
import { readStoredText, type StoredText } from './stored-text';

/** Reads a result that was too large to travel, and checks it against the digest that the turn holds. */
export async function readStoredResult(
  client: Client,
  stored: StoredText & { readonly digest: string },
): Promise<JsonValue> {
  const { digest, ...wanted } = stored;
  const text = await readStoredText(client, wanted);
  if (text === null || `sha256:${createHash('sha256').update(text).digest('hex')}` !== digest) {
    throw holdpointError('RESULT_GONE', { operation: stored.operationId });
  }
  return parsed(text);
}

/** Reads the card of a request that was too large to travel with its turn. */
export async function readStoredRequest(
  client: Client,
  stored: StoredText & { readonly revision: number },
): Promise<ApprovalRequest> {
  const text = await readStoredText(client, stored);
  if (text === null) throw holdpointError('RESULT_GONE', { operation: stored.operationId });
  return parsed(text);
}

/** JSON that this package wrote. */
function parsed(text: string) {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a parser
  return JSON.parse(text) as JsonValue & ApprovalRequest;
}
