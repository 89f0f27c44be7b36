import { isBlank } from '../../core/display';
import type { Policy } from '../../core/policy';
import { isSampled, maySecondReview, secondReviewShareOf } from '../../core/second-review';
import { sampledDecision, type SecondReview } from '../second-reviews';
import type { Tx } from '../transaction';
import { lockOperation } from './locate';

export interface SecondReviewGiven extends Omit<SecondReview, 'atMs'> {
  readonly operationId: string;
  readonly revision: number;
  /** Whether somebody made sure that it is them; a name alone is a claim. */
  readonly verified?: boolean;
}

/** `agrees` is told once the review is on record, and not before. */
export type SecondReviewed =
  { readonly ok: true; readonly agrees: boolean; readonly decided: 'allow' | 'deny' } | SecondReviewRefused;

export interface SecondReviewRefused {
  readonly ok: false;
  /** `notOpen`: there is none for this person, whatever else there is. */
  readonly code: 'notOpen' | 'done' | 'noteMissing';
  readonly detail: string;
}

/** Records what somebody would have answered to a decided request of the sample. It changes nothing about the decision. */
export async function giveSecondReview(
  tx: Tx,
  { given, policy }: { given: SecondReviewGiven; policy: Policy },
): Promise<SecondReviewed> {
  const { operationId, revision, answer, by, note, verified = false } = given;
  const refused = (code: SecondReviewRefused['code'], detail: string) => ({ ok: false, code, detail }) as const;
  await lockOperation(tx, operationId);
  const found = await sampledDecision(tx.db, { operationId, revision });
  const isOpen =
    found !== null && isSampled(found.factHash, secondReviewShareOf(policy)) && maySecondReview(policy, by, found);
  if (!isOpen)
    return refused('notOpen', `revision ${revision} of ${operationId} is not for ${by} to review a second time`);
  if (found.second !== null) return refused('done', `${found.second.by} reviewed it before`);
  if (answer === 'deny' && isBlank(note)) return refused('noteMissing', 'say what you would have denied it for');
  const agrees = answer === found.answer;
  await tx.db
    .insertInto('second_reviews')
    .values({
      operation_id: operationId,
      revision,
      answer,
      agrees: agrees ? 1 : 0,
      reviewer: by,
      note,
      reviewed_at: tx.nowMs,
    })
    .execute();
  tx.fact({ kind: 'review.second', operationId, body: { revision, answer, by, note, verified, agrees } });
  return { ok: true, agrees, decided: found.answer };
}
