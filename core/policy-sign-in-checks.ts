import type { Listed, PolicyDraft } from './policy-draft';
import { namesText, valueFault } from './policy-fault';
import type { PolicyFault } from './policy-fault';
import type { DraftRule } from './policy-rule-schema';

/**
 * A rule whose authentication classes share none with those of an earlier rule that always matches with it, or with which
 * it always matches: nobody could ever allow. What only a call tells (conditions of both, hints) is left to the card.
 */
export function signInFaults(draft: PolicyDraft, { entry: rule, index }: Listed<DraftRule>): PolicyFault[] {
  const acr = rule.signIn?.acr ?? null;
  if (acr === null) return [];
  return draft.rules
    .filter((other) => other.index < index && surelyTogether(draft, other.entry, rule))
    .flatMap(({ entry: other }) => {
      const others = other.signIn?.acr ?? null;
      if (others === null || others.some((value) => acr.includes(value))) return [];
      const message = `rule ${rule.id}: it takes the authentication classes ${namesText(acr)}, but rule ${other.id}, which matches with it, takes ${namesText(others)}: no one sign-in satisfies both, so nobody could allow`;
      const hint = 'Name a class that both of them take.';
      return [valueFault('POLICY_CONTRADICTION', ['rules', index, 'signIn', 'acr'], { message, hint })];
    });
}

/** Whether wherever one of them matches some tool, the other does. Two emergency rules never come together. */
function surelyTogether(draft: PolicyDraft, a: DraftRule, b: DraftRule): boolean {
  if (a.server !== b.server || (a.emergency !== false && b.emergency !== false)) return false;
  if (Object.keys(a.when).length > 0 && Object.keys(b.when).length > 0) return false;
  if (a.scope.kind === 'all' || b.scope.kind === 'all' || a.scope.kind === b.scope.kind) return sharesTool(a, b);
  const named = [a.scope, b.scope].flatMap((scope) => (scope.kind === 'tools' ? scope.tools : []));
  return named.some((tool) => surelyDestructive(draft, a.server, tool));
}

function sharesTool({ scope: a }: DraftRule, { scope: b }: DraftRule): boolean {
  if (a.kind !== 'tools' || b.kind !== 'tools') return true;
  return a.tools.some((tool) => b.tools.includes(tool));
}

function surelyDestructive(draft: PolicyDraft, serverName: string, toolName: string): boolean {
  const server = draft.servers.get(serverName);
  const tool = server?.tools.get(toolName);
  if (server === null || server === undefined || tool === null || tool === undefined) return false;
  return tool.destructive ?? server.hints !== 'trusted';
}
