import type { ToolEntry, ToolRead } from './policy';
import type { DraftServer, PolicyDraft } from './policy-draft';
import { namesText, pointerTo, quoted, valueFault } from './policy-fault';
import type { PolicyFault, PolicyPath } from './policy-fault';
import { touchesSecret } from './touches-secret';

/** A tool entry, the server that it is on, and its place. */
type Spot = { readonly server: DraftServer; readonly tool: ToolEntry; readonly path: PolicyPath };

/** Contradictions inside the entries of `servers`. */
export function toolFaults(draft: PolicyDraft): PolicyFault[] {
  return [...draft.servers.values()].flatMap((server) => {
    if (server === null) return [];
    const tools = [...server.tools.values()].filter((tool) => tool !== null);
    return tools.flatMap((tool) => {
      const spot = { server, tool, path: ['servers', server.name, 'tools', tool.name] };
      const reads = readsOf(tool).flatMap((read) => helperFaults(draft, spot, read));
      return [...materialFaults(spot), ...reads, ...lookUpFaults(spot)];
    });
  });
}

function materialFaults({ tool, path }: Spot): PolicyFault[] {
  return tool.material.flatMap(({ name, at, from }) => {
    const place = [...path, 'material', name];
    if (from === 'state' && tool.state === null) {
      const message = `${tool.name}: ${quoted(name)} comes from the state, but the tool has no "state" read`;
      const hint = 'Add "state: { tool: … }", or remove "from: state".';
      return [valueFault('POLICY_CONTRADICTION', [...place, 'from'], { message, hint })];
    }
    if (from === 'state' || !isFilled(tool, at)) return [];
    const message = `${tool.name}: ${at} is filled by Holdpoint, so it is no material that a person could approve`;
    return [valueFault('POLICY_CONTRADICTION', [...place, 'at'], { message, hint: 'Remove the material field.' })];
  });
}

/** A read and the key of the tool entry that it stands under. */
type Helper = { readonly read: ToolRead; readonly key: 'version' | 'preview' | 'state' | 'outcome' };

function readsOf({ version, preview, state, outcome }: ToolEntry): readonly Helper[] {
  const lookUp = outcome?.source.kind === 'tool' ? outcome.source.read : null;
  return (['version', 'preview', 'state', 'outcome'] as const).flatMap((key) => {
    const read = { version, preview, state, outcome: lookUp }[key];
    return read === null ? [] : [{ key, read }];
  });
}

/** A helper runs without asking anybody: it may not be what people are asked about, and it must be able to run. */
function helperFaults(draft: PolicyDraft, { server, tool, path }: Spot, { key, read }: Helper): PolicyFault[] {
  const reason = helperRefusal(draft, { server, tool }, read.tool);
  const words = {
    message: `${tool.name}: ${key} may not call ${read.tool}: ${reason ?? ''}`,
    hint: 'Name a tool that only reads.',
  };
  const helper = reason === null ? [] : [valueFault('POLICY_CONTRADICTION', [...path, key, 'tool'], words)];
  const filled = Object.entries(read.arguments ?? {}).flatMap(([name, source]) => {
    if (source.kind !== 'pointer' || !isFilled(tool, source.at)) return [];
    const message = `${tool.name}: ${key} reads ${source.at}, which is filled by Holdpoint and not in the call`;
    const hint = 'Write { fill: operationId }.';
    return [valueFault('POLICY_CONTRADICTION', [...path, key, 'arguments', name], { message, hint })];
  });
  return [...helper, ...filled];
}

function helperRefusal(draft: PolicyDraft, { server, tool }: Omit<Spot, 'path'>, helper: string): string | null {
  if (helper === tool.name) return 'it is the tool itself, and a helper runs without asking';
  const entry = server.tools.get(helper) ?? null;
  if (entry?.destructive === true) return 'it is destructive, and a helper runs without asking';
  if (entry?.enabled === false) return 'it is disabled';
  const rule = draft.rules.find(
    ({ entry: { scope, server: on } }) => on === server.name && scope.kind === 'tools' && scope.tools.includes(helper),
  );
  return rule === undefined ? null : `rule ${rule.entry.id} asks about it, and a helper runs without asking`;
}

function lookUpFaults(spot: Spot): PolicyFault[] {
  const { outcome } = spot.tool;
  if (outcome?.source.kind !== 'tool') return [];
  const given = outcome.source.read.arguments;
  const nameless = namelessFaults(spot, given);
  return nameless.length > 0 ? nameless : secretFaults(spot, given);
}

/** A look-up by tool has to name the operation; otherwise an earlier effect would pass for this one. */
function namelessFaults({ tool, path }: Spot, given: ToolRead['arguments']): PolicyFault[] {
  const names = given === null ? tool.fill : Object.values(given).filter(({ kind }) => kind === 'operationId');
  if (Object.keys(names).length > 0) return [];
  const message = `${tool.name}: the look-up does not get the operation id; it gets ${given === null ? "the call's own arguments" : namesText(Object.keys(given))}`;
  const hint = 'Add an argument { fill: operationId } to "outcome".';
  return [valueFault('POLICY_CONTRADICTION', [...path, 'outcome', 'arguments'], { message, hint })];
}

/** Secrets are not kept, so a look-up would get a token in their place, and find nothing. */
function secretFaults({ tool, path }: Spot, given: ToolRead['arguments']): PolicyFault[] {
  const place = [...path, 'outcome', 'arguments'];
  if (given === null && tool.secrets.length > 0) {
    const message = `${tool.name}: the look-up would get the call's own arguments, of which ${namesText(tool.secrets)} is not kept`;
    const hint = 'Add "arguments: { operation_id: { fill: operationId } }" to "outcome".';
    return [valueFault('POLICY_CONTRADICTION', place, { message, hint })];
  }
  return Object.entries(given ?? {}).flatMap(([name, source]) => {
    if (source.kind !== 'pointer' || !touchesSecret(source.at, tool.secrets)) return [];
    const message = `${tool.name}: the look-up reads ${source.at}, which holds a secret and is not kept`;
    return [valueFault('POLICY_CONTRADICTION', [...place, name], { message, hint: 'Look up by other arguments.' })];
  });
}

function isFilled(tool: ToolEntry, at: string): boolean {
  return Object.keys(tool.fill).some((name) => `${at}/`.startsWith(`${pointerTo(name)}/`));
}
