import type { Policy } from './policy';
import { checkDraft } from './policy-checks';
import { readPolicyDocument } from './policy-document';
import { readDraft } from './policy-draft';
import type { PolicyDraft } from './policy-draft';
import type { PolicyProblem } from './policy-fault';
import type { PlacedFault } from './policy-tree';
import { ruleVersion } from './rule-version';

/** A policy that may be applied, or every mistake that keeps it from that, in the order of the file. */
export type ParsedPolicy =
  { readonly ok: true; readonly policy: Policy } | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/**
 * Reads a policy file (`docs/policy.md`) strictly: YAML, keys, values, and what the entries say of each other. Never
 * throws, whatever the text.
 * @param fileName as it is to stand in the problems; nothing is read from it.
 */
export function parsePolicyFile(text: string, fileName: string): ParsedPolicy {
  const document = readPolicyDocument(text);
  if (document.value === undefined) return refused(document.faults, fileName);
  const { draft, faults } = readDraft(document.value);
  const checked = draft === null ? [] : checkDraft(draft);
  const placed = [...faults, ...checked].map(({ path, at, ...words }) => ({ ...document.placeOf(path, at), ...words }));
  const problems = [...document.faults, ...placed];
  return draft === null || problems.length > 0 ? refused(problems, fileName) : { ok: true, policy: compile(draft) };
}

function refused(faults: readonly PlacedFault[], file: string): ParsedPolicy {
  const problems = faults.map(({ code, message, line, column, hint }) => ({ code, message, file, line, column, hint }));
  return { ok: false, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) };
}

/** The policy of a draft without faults: nothing in it is null. */
function compile(draft: PolicyDraft): Policy {
  const servers = present(draft.servers).map((server) => ({ ...server, tools: byName(present(server.tools)) }));
  const rest = {
    v: 1,
    trust: draft.trust,
    people: byName(present(draft.people)),
    ...(draft.console !== null && { console: draft.console }),
    servers: byName(servers),
    access: draft.access.map(({ entry }) => entry),
  } as const;
  return { ...rest, rules: draft.rules.map(({ entry }) => ({ ...entry, version: ruleVersion(entry, rest) })) };
}

function present<Entry>(entries: ReadonlyMap<string, Entry | null>): readonly Entry[] {
  return [...entries.values()].filter((entry) => entry !== null);
}

function byName<Entry extends { readonly name: string }>(entries: readonly Entry[]): Readonly<Record<string, Entry>> {
  return Object.fromEntries(entries.map((entry) => [entry.name, entry]));
}
