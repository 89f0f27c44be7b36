import type { Policy } from './policy';
import type { ApprovalRequest } from './request';
import { mayReview } from './review';
import { isSelf, operatorsOf } from './reviewers';

/** Where the policy says nothing. */
const USUAL_SHARE = 0.05;

/** Of what people decide, how much is reviewed a second time. */
export function secondReviewShareOf({ console }: Policy): number {
  return console?.secondReviewShare ?? USUAL_SHARE;
}

/**
 * Whether a decided request is in the sample. `factHash` is the hex hash of the audit record that closed it, which nobody
 * knows before they decide: so nobody can tell which of their decisions will be looked at again.
 */
export function isSampled(factHash: string, share: number): boolean {
  return parseInt(factHash.slice(0, 8), 16) < share * 2 ** 32;
}

/** Who may review a decision a second time: reviewers of the request and operators, but nobody who had a part in it. */
export function maySecondReview(
  policy: Policy,
  person: string,
  { request, deciders }: { readonly request: ApprovalRequest; readonly deciders: readonly string[] },
): boolean {
  if (deciders.includes(person) || isSelf(policy, person, request.requester)) return false;
  return mayReview(policy, request, person) || operatorsOf(policy).includes(person);
}
