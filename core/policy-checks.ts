import type { AccessEntry } from './policy';
import type { Listed, PolicyDraft } from './policy-draft';
import type { PolicyFault } from './policy-fault';
import { conditionFaults, toolsInScope } from './policy-field-checks';
import { duplicateIdFaults, groupFaults, operatorFaults, peopleFaults } from './policy-people-checks';
import { ruleFaults, serverFaults } from './policy-rule-checks';
import { signInFaults } from './policy-sign-in-checks';
import { toolFaults } from './policy-tool-checks';

/** What is wrong between the entries of a policy, in no order. */
export function checkDraft(draft: PolicyDraft): PolicyFault[] {
  return [
    ...peopleFaults(draft),
    ...operatorFaults(draft),
    ...toolFaults(draft),
    ...draft.access.flatMap((listed) => accessFaults(draft, listed)),
    ...duplicateIdFaults(draft),
    ...draft.rules.flatMap((listed) => [...ruleFaults(draft, listed), ...signInFaults(draft, listed)]),
  ];
}

function accessFaults(draft: PolicyDraft, { index, entry }: Listed<AccessEntry>): PolicyFault[] {
  const path = ['access', index];
  const owner = `access[${index}]`;
  const groups = entry.subjects.flatMap((pattern, position) =>
    pattern.startsWith('group:')
      ? groupFaults(draft, pattern.slice('group:'.length), { path: [...path, 'subjects', position], owner })
      : [],
  );
  const listed = draft.servers.get(entry.server)?.tools;
  // A tool that the policy does not describe may be called too, and has no material.
  const described = entry.tools.filter((tool) => listed?.has(tool));
  const tools = toolsInScope(draft, entry.server, entry.tools.includes('*') ? null : described);
  return [
    ...serverFaults(draft, entry.server, { path, owner }),
    ...groups,
    ...(tools === undefined ? [] : conditionFaults(entry.when, { path, owner, tools })),
  ];
}
