import type { Ask } from './evaluation';
import type { Policy } from './policy';
import type { Requester } from './requester';
import { eligibleReviewers, isSelf, operatorsOf } from './reviewers';

/** What the review of an emergency found. */
export type Finding = 'justified' | 'notJustified';

/** An emergency that is to be reviewed: what the request asked, for whom, and who allowed it instead. */
export interface Emergency {
  readonly ask: Ask;
  readonly requester: Requester;
  readonly deciders: readonly string[];
}

/** Everybody whom an emergency skipped: the approvers of the request's own rule and of its escalations, as they are now. */
export function skippedApprovers(policy: Policy, ask: Ask): readonly string[] {
  const asked = ask.steps.flatMap((step) => (step.kind === 'rule' ? [step.approvers] : []));
  const sets = [...asked, ...ask.escalate.map(({ to }) => to)];
  return [...new Set(sets.flatMap((who) => eligibleReviewers(policy, who)))].sort();
}

/**
 * Who may review an emergency: those who were skipped, but neither who allowed it nor who stands behind the call. Where
 * none of them is left, the operators of the console.
 */
export function emergencyReviewers(policy: Policy, { ask, requester, deciders }: Emergency): readonly string[] {
  const apart = (name: string) => !deciders.includes(name) && !isSelf(policy, name, requester);
  const skipped = skippedApprovers(policy, ask).filter(apart);
  return skipped.length > 0 ? skipped : operatorsOf(policy).filter(apart);
}
