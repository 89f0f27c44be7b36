import { digestOf } from './digest';
import { canonicalJson } from './json';
import type { JsonValue } from './json';
import type { AccessEntry, Approvers, Conditions, Person, Policy, RuleScope, ServerEntry, ToolEntry } from './policy';
import type { DraftRule } from './policy-rule-schema';
import { eligibleReviewers } from './reviewers';

/**
 * The version of a rule: a digest of the rule and of the entries it uses, which are the server's identity and trust, the
 * tools that it can match, the access entries for them, and the people who can be asked. Sets are sorted, so neither a
 * comment nor the order of entries nor an entry for something else changes it.
 */
export function ruleVersion(rule: DraftRule, policy: Omit<Policy, 'rules'>): string {
  const servers = Object.values(policy.servers).filter((server) => server.name === rule.server);
  return digestOf([
    'holdpoint/rule/1',
    ruleBody(rule),
    servers.map(serverBody),
    byText(servers.flatMap((server) => toolsOf(rule.scope, server)).map(toolBody)),
    byText(policy.access.filter((access) => concerns(access, rule)).map(accessBody)),
    reviewersOf(rule, policy),
  ]);
}

function ruleBody(rule: DraftRule): JsonValue {
  const { scope, when, approvers, escalate, signIn } = rule;
  return {
    ...rule,
    scope: scope.kind === 'tools' ? { kind: 'tools', tools: sorted(scope.tools) } : scope,
    when: conditionsBody(when),
    approvers: { ...whoBody(approvers), quorum: approvers.quorum },
    escalate: escalate.map(({ afterMs, to }) => ({ afterMs, to: whoBody(to) })),
    ...(signIn !== undefined && { signIn: { ...signIn, acr: signIn.acr === null ? null : sorted(signIn.acr) } }),
  };
}

function whoBody({ groups, people }: Omit<Approvers, 'quorum'>) {
  return { groups: sorted(groups), people: sorted(people) };
}

function conditionsBody(conditions: Conditions): JsonValue {
  const bodies = Object.entries(conditions).map(([name, condition]): [string, JsonValue] => [
    name,
    'values' in condition ? { op: condition.op, values: byText(condition.values) } : condition,
  ]);
  return Object.fromEntries(bodies);
}

function serverBody({ name, identity, hints, session }: ServerEntry): JsonValue {
  return { name, identity, hints, session };
}

/** The entries that a rule of this scope can match; of a tool without an entry nothing is written that could change. */
function toolsOf(scope: RuleScope, server: ServerEntry): readonly ToolEntry[] {
  const tools = Object.values(server.tools);
  if (scope.kind === 'tools') return tools.filter((tool) => scope.tools.includes(tool.name));
  return scope.kind === 'all' ? tools : tools.filter((tool) => tool.destructive !== false);
}

function toolBody(tool: ToolEntry): JsonValue {
  return { ...tool, material: byText(tool.material), secrets: sorted(tool.secrets) };
}

function concerns(access: AccessEntry, { server, scope }: DraftRule): boolean {
  if (access.server !== server) return false;
  return (
    access.tools.includes('*') || scope.kind !== 'tools' || access.tools.some((tool) => scope.tools.includes(tool))
  );
}

function accessBody({ subjects, agents, server, tools, when }: AccessEntry): JsonValue {
  return {
    subjects: sorted(subjects),
    agents: sorted(agents),
    server,
    tools: sorted(tools),
    when: conditionsBody(when),
  };
}

/** Who can be asked at any level, by which keys they sign and which requesters they are; their other groups do not matter. */
function reviewersOf(rule: DraftRule, policy: Pick<Policy, 'people'>): JsonValue {
  const levels = [rule.approvers, ...rule.escalate.map(({ to }) => to)];
  const names = levels.map((who) => eligibleReviewers(policy, who));
  const people = Object.values(policy.people).filter((person) => names.flat().includes(person.name));
  return [names, byText(people.map(personBody))];
}

function personBody({ name, keys, subjects }: Person): JsonValue {
  return { name, keys: sorted(keys), subjects: sorted(subjects) };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

function byText(values: readonly JsonValue[]): readonly JsonValue[] {
  return [...values].sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
}
