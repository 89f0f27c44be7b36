import type { Approvers, Person, Policy } from './policy';
import { personOf } from './policy-lookup';
import { principalsOf } from './requester';
import type { Requester } from './requester';

export { personOf };

/** The people who are in one of the groups or named, each once, by name; a name that the policy does not list is nobody. */
export function eligibleReviewers(
  policy: Pick<Policy, 'people'>,
  { groups, people }: Pick<Approvers, 'groups' | 'people'>,
): string[] {
  return Object.values(policy.people)
    .filter((person) => people.includes(person.name) || person.groups.some((group) => groups.includes(group)))
    .map((person) => person.name)
    .sort();
}

/** The people who operate the console; none where the policy says nothing of one. */
export function operatorsOf(policy: Pick<Policy, 'people' | 'console'>): string[] {
  return policy.console === undefined ? [] : eligibleReviewers(policy, policy.console.operators);
}

/** The person behind a requester name; null where no person of the policy has it. */
export function personForSubject(policy: Policy, subject: string): Person | null {
  return Object.values(policy.people).find((person) => person.subjects.includes(subject)) ?? null;
}

/**
 * Whether the person stands behind the call: as its subject, as a link of the delegation chain, or as its agent, under
 * any of the requester names that are this person, or the name itself.
 */
export function isSelf(policy: Policy, person: string, requester: Requester): boolean {
  const names = [person, `user:${person}`, ...(personOf(policy, person)?.subjects ?? [])];
  return principalsOf(requester).some((principal) => names.includes(principal));
}
