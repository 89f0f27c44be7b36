import type { Policy } from '../core/policy';
import type { Active } from '../ledger/ledger';
import { personOf } from '../core/policy-lookup';
import { operatorsOf, personForSubject } from '../core/reviewers';
import type { Identified, Viewer } from './ports';

/** The person whom a sign-in names, as the policy knows them now; null where it lists them no more. */
export function viewerOf(
  active: Pick<Active, 'policy' | 'trust'> | null,
  { person: name, sessionId, signedInAtMs, signIn }: Identified,
): Viewer | null {
  if (active === null) return null;
  const { policy, trust } = active;
  const person = personOf(policy, name);
  if (person === null) return null;
  const isOperator = operatorsOf(policy).includes(name);
  return {
    name,
    groups: person.groups,
    isOperator,
    sessionId,
    signedInAtMs,
    trust,
    ...(signIn !== undefined && { signIn }),
  };
}

/** The name in `people` that somebody's own name, or subject, is; null where the policy has no such person. */
export function personNamed(policy: Policy | null, claim: string): string | null {
  if (policy === null) return null;
  return personOf(policy, claim)?.name ?? personForSubject(policy, claim)?.name ?? null;
}
