import { nearestName } from './nearest-name';
import type { DeadlineSpec, Validity } from './policy';
import type { Listed, PolicyDraft } from './policy-draft';
import { namesText, quoted, valueFault } from './policy-fault';
import type { PolicyFault, PolicyPath } from './policy-fault';
import { conditionFaults, toolsInScope, totalFaults } from './policy-field-checks';
import { durationText } from './policy-fields';
import { didYouMean } from './policy-issue';
import { POLICY_LIMITS } from './policy-limits';
import { approverFaults } from './policy-people-checks';
import type { DraftRule } from './policy-rule-schema';

/** What is wrong with a rule once the rest of the policy is known. */
export function ruleFaults(draft: PolicyDraft, listed: Listed<DraftRule>): PolicyFault[] {
  const { entry: rule, index } = listed;
  const spot = { rule, path: ['rules', index] };
  return [
    ...serverFaults(draft, rule.server, { path: spot.path, owner: `rule ${rule.id}` }),
    ...scopeFaults(draft, spot),
    ...approverFaults(draft, listed),
    ...fieldFaults(draft, spot),
    ...escalationFaults(spot),
    ...emergencyFaults(draft, spot),
  ];
}

type Spot = { readonly rule: DraftRule; readonly path: PolicyPath };

/** A server that the policy does not have. */
export function serverFaults(
  draft: PolicyDraft,
  server: string,
  { path, owner }: { readonly path: PolicyPath; readonly owner: string },
): PolicyFault[] {
  const known = [...draft.servers.keys()];
  if (known.includes(server)) return [];
  const nearest = nearestName(server, known);
  const message = `${owner}: ${quoted(server)} is not in "servers"; known: ${namesText(known)}`;
  const hint = nearest === null ? 'Add the server to "servers".' : didYouMean(nearest);
  return [valueFault('POLICY_UNKNOWN_NAME', [...path, 'server'], { message, hint })];
}

function scopeFaults(draft: PolicyDraft, { rule, path }: Spot): PolicyFault[] {
  const listed = draft.servers.get(rule.server)?.tools;
  if (listed === undefined || rule.scope.kind !== 'tools') return [];
  const known = [...listed.keys()];
  return rule.scope.tools.flatMap((tool, index) => {
    if (listed.has(tool)) return [];
    const nearest = nearestName(tool, known);
    const message = `rule ${rule.id}: ${rule.server} has no tool ${quoted(tool)} in the policy; known: ${namesText(known)}`;
    const hint = nearest === null ? `Add "${tool}: {}" under its "tools".` : didYouMean(nearest);
    return [valueFault('POLICY_UNKNOWN_NAME', [...path, 'scope', 'tools', index], { message, hint })];
  });
}

function fieldFaults(draft: PolicyDraft, { rule, path }: Spot): PolicyFault[] {
  const named = rule.scope.kind === 'tools';
  const tools = toolsInScope(draft, rule.server, rule.scope.kind === 'tools' ? rule.scope.tools : null);
  if (tools === undefined) return [];
  const scope = { path, owner: `rule ${rule.id}`, tools };
  const totals = rule.validity.kind === 'window' ? Object.keys(rule.validity.total) : [];
  const unbound = tools
    .filter((tool) => !tool.material.some(({ from }) => from === 'arguments'))
    .map(({ name }) => name);
  const nothingBound = rule.bind === 'material' && (named ? unbound.length > 0 : unbound.length === tools.length);
  const words = {
    message: `rule ${rule.id}: bind: material, but ${namesText(unbound)} has no material field in its arguments: nothing would be bound`,
    hint: 'Declare "material" for the tool, or write "bind: arguments".',
  };
  return [
    ...conditionFaults(rule.when, scope),
    ...totalFaults(totals, { ...scope, everyTool: named }),
    ...(nothingBound ? [valueFault('POLICY_CONTRADICTION', [...path, 'bind'], words)] : []),
  ];
}

function escalationFaults({ rule, path }: Spot): PolicyFault[] {
  const ends = endOf(rule.deadline);
  return rule.escalate.flatMap(({ afterMs }, level) => {
    const before = rule.escalate[level - 1]?.afterMs ?? 0;
    const after = durationText(afterMs);
    const say = (message: string, hint: string) => [
      valueFault('POLICY_CONTRADICTION', [...path, 'escalate', level, 'after'], {
        message: `rule ${rule.id}: ${message}`,
        hint,
      }),
    ];
    if (afterMs >= ends) {
      return say(
        `escalation after ${after}, but the request ends after ${durationText(ends)}`,
        'Escalate earlier, or move the deadline.',
      );
    }
    if (afterMs > before) return [];
    return say(
      `escalation ${level + 1} comes after ${after}, not later than the one before it`,
      'Order them by time from the opening.',
    );
  });
}

function endOf({ then, afterMs }: DeadlineSpec): number {
  return then === 'expire' ? afterMs : POLICY_LIMITS.wait.maxMs;
}

function emergencyFaults(draft: PolicyDraft, { rule, path }: Spot): PolicyFault[] {
  if (rule.emergency === false) return [];
  const owner = `rule ${rule.id} is an emergency rule:`;
  const scope = { message: `${owner} it must name its tools`, hint: 'Write "scope: { tools: [...] }".' };
  const validity = {
    message: `${owner} it may hold at most 15 minutes or one use`,
    hint: 'Write "validity: once" or "validity: { minutes: 15 }".',
  };
  const escalates = {
    message: `${owner} it cannot escalate`,
    hint: 'Remove "escalate": those whom it names may act at once.',
  };
  const tools = rule.scope.kind === 'tools' ? rule.scope.tools : [];
  const unasked = tools.filter((tool) => !draft.rules.some(({ entry }) => asksAbout(entry, rule.server, tool)));
  return [
    ...(rule.scope.kind === 'tools' ? [] : [valueFault('POLICY_CONTRADICTION', [...path, 'scope'], scope)]),
    ...(isBrief(rule.validity) ? [] : [valueFault('POLICY_CONTRADICTION', [...path, 'validity'], validity)]),
    ...(rule.escalate.length === 0 ? [] : [valueFault('POLICY_CONTRADICTION', [...path, 'escalate'], escalates)]),
    ...unasked.map((tool) =>
      valueFault('POLICY_CONTRADICTION', [...path, 'scope', 'tools', tools.indexOf(tool)], {
        message: `${owner} no other rule asks about ${rule.server}/${tool}, so there is nobody to skip`,
        hint: 'An emergency rule asks about nothing by itself; add a rule that does.',
      }),
    ),
  ];
}

function asksAbout({ emergency, server, scope }: DraftRule, ofServer: string, tool: string): boolean {
  return emergency === false && server === ofServer && (scope.kind !== 'tools' || scope.tools.includes(tool));
}

function isBrief(validity: Validity): boolean {
  if (validity.kind === 'once' || validity.uses === 1) return true;
  return validity.durationMs !== null && validity.durationMs <= POLICY_LIMITS.emergencyWindowMs;
}
