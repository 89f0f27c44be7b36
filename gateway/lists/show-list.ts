import { parseJson } from '../../activities/rpc';
import { isJsonArray, isJsonObject } from '../../core/json';
import type { JsonObject, JsonValue } from '../../core/json';
import { withoutArguments } from './hidden-arguments';
import { edited, itemsOf, lastMember, membersOf, rootOf, withoutParts } from '../wire/json-spans';
import type { Edit, MemberSpan, Span } from '../wire/json-spans';
import { withPendingForm } from './pending-schema';

/** How one tool is shown. */
export interface ToolShowing {
  /** Whether calls of it may be answered as pending. */
  readonly gated: boolean;
  /** Names of the arguments that Holdpoint fills in, and that no model is to see. */
  readonly hidden: readonly string[];
}

/**
 * An answer to `tools/list` as a client is to see it: a gated tool's output schema admits the pending form, or is left
 * out where it cannot; arguments that Holdpoint fills in are not offered. Everything else stays as the upstream wrote
 * it, to the byte: numbers that no double keeps, names that stand twice, tools that are not understood.
 * @param text the whole JSON-RPC response; one that is no list is returned as it is.
 */
export function showList(text: string, decide: (toolName: string, rawTool: JsonObject) => ToolShowing): string {
  const changes = toolsIn(text)
    .map((tool) => showingOf(tool, decide))
    .map((showing, index) => ({ index, showing }))
    .filter(({ showing }) => showing.gated || showing.hidden.length > 0);
  if (changes.length === 0) return text;
  const places = toolPlaces(text);
  return edited(
    text,
    changes.flatMap(({ index, showing }) => editsOf(text, places[index], showing)),
  );
}

function toolsIn(text: string): readonly JsonValue[] {
  const response = parseJson(text);
  const result = response !== undefined && isJsonObject(response) ? response['result'] : undefined;
  const tools = result !== undefined && isJsonObject(result) ? result['tools'] : undefined;
  return tools !== undefined && isJsonArray(tools) ? tools : [];
}

function showingOf(tool: JsonValue, decide: (toolName: string, rawTool: JsonObject) => ToolShowing): ToolShowing {
  const name = isJsonObject(tool) ? tool['name'] : undefined;
  return isJsonObject(tool) && typeof name === 'string' ? decide(name, tool) : { gated: false, hidden: [] };
}

function toolPlaces(text: string): readonly Span[] {
  const result = lastMember(membersOf(text, rootOf(text)), 'result');
  const tools = result && lastMember(membersOf(text, result.value), 'tools');
  return tools === undefined ? [] : itemsOf(text, tools.value);
}

function editsOf(text: string, place: Span | undefined, { gated, hidden }: ToolShowing): readonly Edit[] {
  const members = place === undefined ? [] : membersOf(text, place);
  const inputs = members.filter(({ name }) => name === 'inputSchema');
  const edits = inputs.map(({ value }) => ({ ...value, text: withoutArguments(slice(text, value), hidden) }));
  return gated ? [...edits, ...outputEdits(text, members)] : edits;
}

function outputEdits(text: string, members: readonly MemberSpan[]): readonly Edit[] {
  const last = lastMember(members, 'outputSchema');
  if (last === undefined) return [];
  const listed = withPendingForm(slice(text, last.value));
  const isOutput = ({ name }: MemberSpan): boolean => name === 'outputSchema';
  if (listed === null) return withoutParts(members, isOutput);
  return members.filter(isOutput).map(({ value }) => ({ ...value, text: listed }));
}

function slice(text: string, { start, end }: Span): string {
  return text.slice(start, end);
}
