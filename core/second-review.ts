import type { Policy } from './policy';
import type { ApprovalRequest } from './request';
import { mayReview } from './review';
import { eligibleReviewers, isSelf } from './reviewers';

/** Of the requests that people decided, the share that is reviewed a second time where the policy says nothing. */
export const SECOND_REVIEW_SHARE = 0.05;

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
  const operators = policy.console?.operators ?? { groups: [], people: [] };
  return mayReview(policy, request, person) || eligibleReviewers(policy, operators).includes(person);
}
