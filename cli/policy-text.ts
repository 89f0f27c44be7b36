import { canonicalJson, type JsonValue } from '../core/json';
import { EMERGENCY_MS } from '../core/grant';
import { describeStep } from '../core/judge-decision';
import type { Person, Policy, Rule, RuleScope } from '../core/policy';
import type { PolicyProblem } from '../core/policy-fault';
import { personOf } from '../core/policy-lookup';
import { eligibleReviewers } from '../core/reviewers';
import { signInNeedText } from '../core/sign-in';
import { unreachable } from '../core/unreachable';
import { policyPeopleText } from './policy-people-text';
import type { Paint } from './paint';
import { conditionsText, count, duration, safe, validityText } from './text';

/** `file:line:column: message`, as compilers write it, so that editors jump there; the hint on its own line. */
export function problemText({ file, line, column, message, hint }: PolicyProblem): string {
  const place = `${safe(file)}:${line}:${column}: ${safe(message)}`;
  return hint === null ? place : `${place}\n    ${safe(hint)}`;
}

/** What a policy says, in words: who is asked for what, what an allow permits, and who the people are. */
export function policyText(policy: Policy): string {
  const parts = [
    count(Object.keys(policy.servers).length, 'server'),
    count(Object.keys(policy.people).length, 'person').replace('persons', 'people'),
    count(policy.access.length, 'access entry').replace('entrys', 'entries'),
    count(policy.rules.length, 'rule'),
  ];
  const trust = policy.trust === null ? '' : `; trust: ${policy.trust}`;
  const rules = policy.rules.map((rule) => ruleText(rule, policy));
  return [
    `${parts.join(', ')}${trust}`,
    ...rules,
    `${rules.length === 0 ? 'Every' : 'Any other'} call runs unasked where access lets it, and is refused where access does not.`,
    ...policyPeopleText(policy),
  ].join('\n');
}

function ruleText(rule: Rule, policy: Policy): string {
  const when = conditionsText(rule.when);
  const people = eligibleReviewers(policy, rule.approvers).map(safe).join(', ');
  const step = safe(describeStep({ kind: 'rule', approvers: rule.approvers, selfApproval: rule.selfApproval }));
  const escalates = rule.escalate.map(
    ({ afterMs, to }) => `; after ${duration(afterMs)} also ${[...to.groups, ...to.people].map(safe).join(', ')}`,
  );
  const marks = [
    ...(rule.emergency === false ? [] : [`EMERGENCY, reviewed within ${duration(rule.emergency.reviewWithinMs)}`]),
    ...(rule.selfApproval ? ['SELF-APPROVAL ALLOWED'] : []),
  ];
  const needs = rule.signIn === undefined ? '' : `; ${safe(signInNeedText(rule.signIn))}`;
  const head = `  rule ${safe(rule.id)}: ${safe(rule.server)} / ${scopeText(rule.scope)}${when === '' ? '' : `, when ${when}`}${marks.length === 0 ? '' : `  [${marks.join(', ')}]`}`;
  if (rule.emergency !== false) {
    return [
      head,
      `      asks about nothing; ${step} (${people}) may skip those whom another rule asks, with ticket and reason`,
      `      that permits ${validityText(rule.validity, rule.bind)}, in ${duration(EMERGENCY_MS)} at most${needs}`,
    ].join('\n');
  }
  const end =
    rule.deadline.then === 'expire'
      ? `expires after ${duration(rule.deadline.afterMs)}`
      : `waits, with reminders from ${duration(rule.deadline.afterMs)} on`;
  return [
    head,
    `      asks ${step} (${people})${escalates.join('')}; ${end}`,
    `      an allow permits ${validityText(rule.validity, rule.bind)}${needs}`,
  ].join('\n');
}

function scopeText(scope: RuleScope): string {
  switch (scope.kind) {
    case 'tools':
      return scope.tools.map(safe).join(', ');
    case 'destructive':
      return 'every destructive tool';
    case 'all':
      return 'every tool';
    default:
      return unreachable(scope);
  }
}

/** What becomes of people when `next` takes the place of `before`; a lost key is named, since no rule shows it. */
export function peopleChanges(before: Policy | null, next: Policy, paint: Paint): readonly string[] {
  if (before === null) return [];
  const names = [...new Set([...Object.keys(before.people), ...Object.keys(next.people)])].sort();
  return names.flatMap((name) => {
    const [was, is] = [personOf(before, name), personOf(next, name)];
    if (was === null) return [paint.green(`  + person ${safe(name)}`)];
    if (is === null) return [paint.red(`  - person ${safe(name)}`)];
    if (lostKey(was, is)) return [paint.red(`  ~ person ${safe(name)} lost the key`)];
    const parts = (['keys', 'groups', 'subjects'] as const).filter(
      (part) => textOf([...was[part]]) !== textOf([...is[part]]),
    );
    return parts.length === 0 ? [] : [paint.yellow(`  ~ person ${safe(name)}: ${parts.join(', ')} changed`)];
  });
}

function lostKey(was: Person, is: Person): boolean {
  return was.keys.length > 0 && is.keys.length === 0;
}

/** A warning for each person of `before` who has a key there and none in `next`. */
export function lostKeyWarnings(
  before: Policy | null,
  { policy, trust }: { readonly policy: Policy; readonly trust: 'signatures' | 'namespace' },
): readonly string[] {
  const lost = Object.values(policy.people).filter((person) => {
    const was = before === null ? null : personOf(before, person.name);
    return was !== null && lostKey(was, person);
  });
  const effect =
    trust === 'namespace'
      ? 'decisions under this name count as UNVERIFIED, signed or not'
      : 'no decision under this name counts';
  return lost.map(
    ({ name }) => `${safe(name)} lost the key that the policy before listed: ${effect}, until people lists a key again`,
  );
}

/** What becomes of each rule when `next` takes the place of `before`; no line for a rule that stays as it is. */
export function ruleChanges(before: Policy | null, next: Policy, paint: Paint): readonly string[] {
  const old = new Map((before?.rules ?? []).map((rule) => [rule.id, rule]));
  const now = new Map(next.rules.map((rule) => [rule.id, rule]));
  return [
    ...next.rules.filter(({ id }) => !old.has(id)).map(({ id }) => paint.green(`  + rule ${safe(id)}`)),
    ...[...old.keys()].filter((id) => !now.has(id)).map((id) => paint.red(`  - rule ${safe(id)}`)),
    ...next.rules.flatMap((rule) => {
      const was = old.get(rule.id);
      if (was === undefined || was.version === rule.version) return [];
      return [paint.yellow(`  ~ rule ${safe(rule.id)}: ${changedParts(was, rule)}`)];
    }),
  ];
}

function changedParts(was: Rule, rule: Rule): string {
  const before = new Map(Object.entries(was));
  const parts = Object.entries(rule)
    .filter(([name, value]) => name !== 'version' && textOf(before.get(name)) !== textOf(value))
    .map(([name]) => name);
  return parts.length === 0 ? 'the server, access or people that it uses changed' : `${parts.join(', ')} changed`;
}

/** What a rule came from may have its members in another order: the stored one is canonical. */
function textOf(value: JsonValue | undefined): string {
  return value === undefined ? '' : canonicalJson(value);
}
