import type { SimilarOperation } from '../../core/request';
import type { Tx } from '../transaction';
import type { RequestDraft } from './open-call';

const MOST = 5;

/** The latest operations like a call, and what was denied of the very same call of this requester; the newest first. */
export async function similarOperations(
  tx: Tx,
  call: { readonly draft: RequestDraft; readonly similarDigest: string; readonly requesterKey: string },
): Promise<readonly SimilarOperation[]> {
  const sent = await tx.db
    .selectFrom('operations')
    .leftJoin('reversals', 'reversals.operation_id', 'operations.operation_id')
    .select(['operations.operation_id as operationId', 'dispatched_at as atMs', 'subject as requester', 'state'])
    .select(['result_is_error', 'reported_at'])
    .where('similar_digest', '=', call.similarDigest)
    .orderBy('dispatched_at', 'desc')
    .limit(MOST)
    .execute();
  const denied = await tx.db
    .selectFrom('requests')
    .select(['operation_id as operationId', 'closed_at', 'subject as requester', 'state'])
    .where('requester_key', '=', call.requesterKey)
    .where('binding_digest', '=', call.draft.bindingDigest)
    .where('state', '=', 'denied')
    .orderBy('closed_at', 'desc')
    .limit(MOST)
    .execute();
  const refused = denied.map(({ closed_at: atMs, ...row }) => ({ ...row, atMs: atMs ?? 0 }));
  const ended = sent.map(({ result_is_error: isError, reported_at: reversedAt, ...row }) => ({
    ...row,
    ...(isError === 1 && { isError: true as const }),
    ...(reversedAt !== null && { reversed: true as const }),
  }));
  return [...ended, ...refused].sort((a, b) => b.atMs - a.atMs).slice(0, MOST);
}
