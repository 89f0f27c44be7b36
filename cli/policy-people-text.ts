import type { ConsoleEntry, Policy } from '../core/policy';
import { operatorsOf } from '../core/reviewers';
import { secondReviewShareOf } from '../core/second-review';
import { safe, table } from './text';

/** Whom a policy lists, a line each, and who operates the console; nothing of either where it has none. */
export function policyPeopleText(policy: Policy): readonly string[] {
  const people = Object.values(policy.people).map(({ name, groups, subjects, keys }) => [
    safe(name),
    groups.length === 0 ? '-' : groups.map(safe).join(', '),
    String(subjects.length),
    keys.length === 0 ? 'none' : String(keys.length),
  ]);
  return [
    ...(people.length === 0 ? [] : [table(['person', 'groups', 'subjects', 'keys'], people)]),
    ...(policy.console === undefined ? [] : [consoleText(policy, policy.console)]),
  ];
}

/** A public key is its own name: "holdpoint key" prints it, and the policy lists it. */
function consoleText(policy: Policy, { keys }: ConsoleEntry): string {
  const operators = operatorsOf(policy);
  const percent = Number((secondReviewShareOf(policy) * 100).toFixed(2));
  const signs = keys.length === 0 ? 'signs nothing: it has no key' : `signs with ${keys.map(safe).join(' or ')}`;
  return [
    `The console ${signs}`,
    `  operators: ${operators.length === 0 ? 'nobody' : operators.map(safe).join(', ')}`,
    `  second review of ${percent} % of what people decide`,
  ].join('\n');
}
