import { randomUUID } from 'node:crypto';
import type { Decision } from '../core/decision';
import type { ApprovalRequest } from '../core/request';

/**
 * A decision on a request as it was read: it names that operation, revision and content and no other.
 * @param given who answers what; `decisionId` only where the same decision is sent again.
 */
export function decisionOn(
  request: Pick<ApprovalRequest, 'operationId' | 'revision' | 'bindingDigest'>,
  given: Pick<Decision, 'answer' | 'reviewer'> & Partial<Omit<Decision, 'v'>>,
): Decision {
  const { operationId, revision, bindingDigest } = request;
  return { v: 1, decisionId: randomUUID(), operationId, revision, digest: bindingDigest, channel: 'update', ...given };
}
