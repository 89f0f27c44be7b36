import type { Policy } from '../../core/policy';
import { isOpenTo } from '../../core/policy-access';
import { personOf } from '../../core/policy-lookup';
import { safe } from '../text';
import type { DevFile } from './dev-file';

/** The reviewer whose key is in the state folder. */
export interface DevReviewer {
  readonly name: string;
  readonly keyFile: string;
  readonly publicKey: string;
}

/** Who may ask and who may decide here, by the active policy and by nothing else. */
export function peopleText(policy: Policy, { agent, reviewer }: { agent: DevFile['agent']; reviewer: DevReviewer }) {
  return [`  agent           ${agentText(policy, agent)}`, `  reviewer        ${reviewerText(policy, reviewer)}`];
}

/** Whether commands of this folder can decide without saying who does. */
export function decidesUnnamed(policy: Policy, { name }: Pick<DevReviewer, 'name'>): boolean {
  return personOf(policy, name) !== null;
}

function agentText(policy: Policy, agent: DevFile['agent']): string {
  const named = `${safe(agent.subject)} through ${safe(agent.agent)}`;
  if (policy.access.some((entry) => isOpenTo(policy, entry, agent))) return `${named}: starts turns`;
  const others = policy.access.map(({ subjects, agents }) => `${listed(subjects)} through ${listed(agents)}`);
  if (others.length === 0) return 'nobody: the policy has no access entry, so every call is refused';
  return `${[...new Set(others)].join('; ')}: name one as the requester in the turn file`;
}

function reviewerText(policy: Policy, { name, keyFile, publicKey }: DevReviewer): string {
  const person = personOf(policy, name);
  if (person === null) {
    const names = Object.keys(policy.people);
    return names.length === 0 ? 'nobody: the policy lists no people' : `${listed(names)}: give --as NAME`;
  }
  const who = `${safe(name)}, another person: decides`;
  if (person.keys.includes(publicKey)) return `${who}, signing with ${safe(keyFile)}`;
  if (person.keys.length === 0) return `${who}; the policy lists no key, so the decisions are UNVERIFIED`;
  return `${who}; the policy lists another key than the one here: give --key FILE`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(safe).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}
