import { nearestName } from './nearest-name';
import type { Condition, Conditions, MaterialKind, MaterialSpec, ToolEntry } from './policy';
import type { PolicyDraft } from './policy-draft';
import { keyFault, namesText, quoted, valueFault } from './policy-fault';
import type { PolicyFault, PolicyPath } from './policy-fault';
import { didYouMean } from './policy-issue';

/**
 * The entries of the tools in scope; null for all of the server. Undefined where one of them, or the server, is unknown
 * or broken: that is reported at its own place, and nothing that depends on it can be judged.
 */
export function toolsInScope(
  draft: PolicyDraft,
  server: string,
  tools: readonly string[] | null,
): readonly ToolEntry[] | undefined {
  const listed = draft.servers.get(server)?.tools;
  if (listed === undefined) return undefined;
  const entries = tools === null ? [...listed.values()] : tools.map((tool) => listed.get(tool) ?? null);
  const readable = entries.filter((entry) => entry !== null);
  return readable.length === entries.length ? readable : undefined;
}

/** Conditions of the entry at `path`, called `owner`, over what the tools in scope have. */
type Scope = { readonly path: PolicyPath; readonly owner: string; readonly tools: readonly ToolEntry[] };

/** Conditions on material fields that no tool in scope has, or that can never hold. */
export function conditionFaults(conditions: Conditions, scope: Scope): PolicyFault[] {
  return Object.entries(conditions).flatMap(([name, condition]) => {
    const specs = specsOf(name, scope);
    const path = [...scope.path, 'when', name];
    if (specs.length === 0) return [unknownField(name, path, scope)];
    const wrong = specs.map(({ as }) => as).find((kind) => !canHold(condition, kind));
    if (wrong === undefined) return [];
    const message = `${scope.owner}: ${quoted(name)} is of the kind ${wrong}, which this condition cannot be compared with`;
    const hint = `Compare it with ${COMPARABLE[wrong]}.`;
    return [valueFault('POLICY_CONTRADICTION', path, { message, hint })];
  });
}

/** Totals over material fields that are missing in one of the tools in scope, or that are no sums. */
export function totalFaults(names: readonly string[], scope: Scope & { readonly everyTool: boolean }): PolicyFault[] {
  return names.flatMap((name) => {
    const specs = specsOf(name, scope);
    const path = [...scope.path, 'validity', 'total', name];
    if (specs.length === 0 || (scope.everyTool && specs.length < scope.tools.length)) {
      return [unknownField(name, path, scope)];
    }
    const wrong = specs.find(({ as, from }) => from === 'state' || (as !== 'number' && as !== 'amount'));
    if (wrong === undefined) return [];
    const message = `${scope.owner}: a total needs a number or an amount of the arguments, ${quoted(name)} is ${describe(wrong)}`;
    return [keyFault('POLICY_CONTRADICTION', path, { message, hint: 'Declare it with "as: amount".' })];
  });
}

function describe({ as, from }: MaterialSpec): string {
  return from === 'state' ? 'read from the state' : `of the kind ${as}`;
}

function specsOf(name: string, { tools }: Scope): readonly MaterialSpec[] {
  return tools.flatMap(({ material }) => material.filter((spec) => spec.name === name));
}

function unknownField(name: string, path: PolicyPath, { owner, tools }: Scope): PolicyFault {
  const known = [...new Set(tools.flatMap(({ material }) => material.map((spec) => spec.name)))];
  const nearest = nearestName(name, known);
  const missing = tools.filter(({ material }) => !material.some((spec) => spec.name === name)).map((tool) => tool.name);
  const who = known.includes(name) ? `${namesText(missing)} has no` : 'no tool in scope has a';
  const message = `${owner}: ${who} material field ${quoted(name)}; known: ${namesText(known)}`;
  const hint = nearest === null || nearest === name ? 'Declare it under "material" of the tool.' : didYouMean(nearest);
  return keyFault('POLICY_UNKNOWN_NAME', path, { message, hint });
}

const COMPARABLE: Readonly<Record<MaterialKind, string>> = {
  text: 'text',
  sql: 'text',
  timestamp: 'text',
  number: 'a number',
  amount: 'a number',
  boolean: 'true or false',
  json: 'text, a number, or true or false',
};

const SCALARS: Readonly<Record<MaterialKind, readonly string[]>> = {
  text: ['string'],
  sql: ['string'],
  timestamp: ['string'],
  number: ['number'],
  amount: ['number'],
  boolean: ['boolean'],
  json: ['string', 'number', 'boolean'],
};

function canHold(condition: Condition, kind: MaterialKind): boolean {
  const values = 'values' in condition ? condition.values : [condition.value];
  return values.every((value) => SCALARS[kind].includes(typeof value));
}
