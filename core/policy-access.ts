import { refusal } from './errors';
import type { Refusal } from './errors';
import type { CallFacts } from './evaluation';
import type { AccessEntry, Policy } from './policy';
import { conditionsHold } from './policy-conditions';
import { serverOf, toolOf } from './policy-lookup';
import type { Requester } from './requester';
import { personForSubject } from './reviewers';

/**
 * Why the call may not run whatever anybody approves, or null where access is granted: an entry that names the subject
 * and the agent and the tool, with conditions that certainly hold, on a server and tool that are enabled.
 */
export function accessRefusal(policy: Policy, facts: CallFacts): Refusal | null {
  const { requester, server, tool } = facts;
  const entry = serverOf(policy, server);
  if (entry === undefined) return refusal('SERVER_UNKNOWN', { server, known: reachableServers(policy, facts) });
  if (!policy.access.some((access) => lets(policy, access, facts))) {
    return refusal('ACCESS_DENIED', { requester: `${requester.subject} through ${requester.agent}`, server, tool });
  }
  const enabled = entry.enabled && toolOf(policy, server, tool)?.enabled !== false;
  return enabled ? null : refusal('TOOL_DISABLED', { server, tool });
}

function lets(policy: Policy, access: AccessEntry, facts: CallFacts): boolean {
  return (
    access.server === facts.server &&
    isOpenTo(policy, access, facts.requester) &&
    (access.tools.includes('*') || access.tools.includes(facts.tool)) &&
    conditionsHold(access.when, facts.material) === 'yes'
  );
}

/** Whether the entry lets this requester call anything at all. */
export function isOpenTo(
  policy: Policy,
  access: AccessEntry,
  requester: Pick<Requester, 'subject' | 'agent'>,
): boolean {
  const agent = access.agents.includes('*') || access.agents.includes(requester.agent);
  return agent && access.subjects.some((pattern) => matchesSubject(policy, pattern, requester.subject));
}

function matchesSubject(policy: Policy, pattern: string, subject: string): boolean {
  if (pattern === '*') return true;
  if (!pattern.startsWith('group:')) return pattern === subject;
  const groups = personForSubject(policy, subject)?.groups ?? [];
  return groups.includes(pattern.slice('group:'.length));
}

/** Only what this requester may reach anyway: the names of other servers are not theirs to learn. */
function reachableServers(policy: Policy, facts: CallFacts): string {
  const names = policy.access
    .filter((access) => isOpenTo(policy, access, facts.requester))
    .map((access) => access.server);
  return [...new Set(names)].sort().join(', ') || 'none';
}
