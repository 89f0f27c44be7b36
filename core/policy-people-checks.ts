import { nearestName } from './nearest-name';
import type { Approvers, Person } from './policy';
import type { Listed, PolicyDraft } from './policy-draft';
import { namesText, quoted, valueFault } from './policy-fault';
import type { PolicyFault, PolicyPath } from './policy-fault';
import { didYouMean } from './policy-issue';
import type { DraftRule } from './policy-rule-schema';
import { eligibleReviewers } from './reviewers';

/** The people that could be read. */
function peopleOf(draft: PolicyDraft): readonly Person[] {
  return [...draft.people.values()].filter((person) => person !== null);
}

/** Two people with one key would be two votes of one hand; with one requester name nobody knows which human asks. */
export function peopleFaults(draft: PolicyDraft): PolicyFault[] {
  const owners = new Map<string, string>();
  const claim = (person: Pick<Person, 'name'>, value: string, path: PolicyPath): PolicyFault[] => {
    const owner = owners.get(value);
    owners.set(value, owner ?? person.name);
    if (owner === undefined || owner === person.name) return [];
    const message = `${person.name} and ${owner} both have ${quoted(value)}: it must belong to one person`;
    return [valueFault('POLICY_DUPLICATE_NAME', path, { message, hint: 'Remove it from one of them.' })];
  };
  const forConsole = (draft.console?.keys ?? []).flatMap((key, index) =>
    claim({ name: CONSOLE }, key, ['console', 'key', index]),
  );
  const forPeople = peopleOf(draft).flatMap((person) => [
    ...person.keys.flatMap((key, index) => claim(person, key, ['people', person.name, 'key', index])),
    ...person.subjects.flatMap((name, index) => claim(person, name, ['people', person.name, 'subjects', index])),
  ]);
  return [...forConsole, ...forPeople];
}

/** No name of a person: those have no blank. */
const CONSOLE = 'the console';

/** Operators of the console that are nobody; a console without any is allowed. */
export function operatorFaults(draft: PolicyDraft): PolicyFault[] {
  const operators = draft.console?.operators ?? { groups: [], people: [] };
  if (operators.groups.length + operators.people.length === 0) return [];
  return whoFaults(draft, operators, { path: ['console', 'operators'], owner: 'console' });
}

/** Approvers of a rule and of its escalations that are nobody, and a quorum that its approvers can never reach. */
export function approverFaults(draft: PolicyDraft, { index, entry: rule }: Listed<DraftRule>): PolicyFault[] {
  const path = ['rules', index];
  const faults = whoFaults(draft, rule.approvers, { path: [...path, 'approvers'], owner: `rule ${rule.id}` });
  const levels = rule.escalate.flatMap(({ to }, level) =>
    whoFaults(draft, to, {
      path: [...path, 'escalate', level, 'to'],
      owner: `rule ${rule.id}, escalation ${level + 1}`,
    }),
  );
  return [...faults, ...(faults.length === 0 ? quorumFaults(draft, rule, path) : []), ...levels];
}

type Owner = { readonly path: PolicyPath; readonly owner: string };

function whoFaults(draft: PolicyDraft, who: Omit<Approvers, 'quorum'>, { path, owner }: Owner): PolicyFault[] {
  if (who.groups.length + who.people.length === 0) {
    const message = `${owner} names no approvers: nobody could ever allow the call`;
    return [valueFault('POLICY_NO_REVIEWERS', path, { message, hint: 'Write "groups: [...]" or "people: [...]".' })];
  }
  return [
    ...who.groups.flatMap((group, index) => groupFaults(draft, group, { path: [...path, 'groups', index], owner })),
    ...who.people.flatMap((person, index) => personFaults(draft, person, { path: [...path, 'people', index], owner })),
  ];
}

/** A group that nobody is in. Not judged while an entry of `people` is broken: its groups are not known. */
export function groupFaults(draft: PolicyDraft, group: string, { path, owner }: Owner): PolicyFault[] {
  if ([...draft.people.values()].includes(null)) return [];
  const known = [...new Set(peopleOf(draft).flatMap((person) => person.groups))];
  if (known.includes(group)) return [];
  const nearest = nearestName(group, known);
  const message = `${owner}: the group ${quoted(group)} has no members; groups with members: ${namesText(known)}`;
  const hint = nearest === null ? `Add "groups: [${group}]" to a person.` : didYouMean(nearest);
  return [valueFault('POLICY_NO_REVIEWERS', path, { message, hint })];
}

function personFaults(draft: PolicyDraft, name: string, { path, owner }: Owner): PolicyFault[] {
  if (draft.people.has(name)) return [];
  const known = [...draft.people.keys()];
  const nearest = nearestName(name, known);
  const message = `${owner}: ${quoted(name)} is not in "people"; known: ${namesText(known)}`;
  const hint = nearest === null ? 'Add the person to "people".' : didYouMean(nearest);
  return [valueFault('POLICY_NO_REVIEWERS', path, { message, hint })];
}

function quorumFaults(draft: PolicyDraft, rule: DraftRule, path: PolicyPath): PolicyFault[] {
  const { quorum } = rule.approvers;
  if ([...draft.people.values()].includes(null)) return [];
  const people = Object.fromEntries(peopleOf(draft).map((person) => [person.name, person]));
  const eligible = eligibleReviewers({ people }, rule.approvers);
  if (quorum <= eligible.length) return [];
  const message = `rule ${rule.id}: quorum ${quorum}, but only ${eligible.length} can approve: ${namesText(eligible)}`;
  const hint = 'Name more people, or lower the quorum.';
  return [valueFault('POLICY_NO_REVIEWERS', [...path, 'approvers', 'quorum'], { message, hint })];
}

/** A rule id is how records and grants name the rule. */
export function duplicateIdFaults(draft: PolicyDraft): PolicyFault[] {
  const first = new Map<string, number>();
  return draft.rules.flatMap(({ index, entry: { id } }) => {
    const earlier = first.get(id);
    if (earlier === undefined) {
      first.set(id, index);
      return [];
    }
    const message = `the rule id ${quoted(id)} is taken by rules[${earlier}]`;
    return [valueFault('POLICY_DUPLICATE_NAME', ['rules', index, 'id'], { message, hint: 'Choose another id.' })];
  });
}
