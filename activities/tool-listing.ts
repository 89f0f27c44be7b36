import { canonicalJson, isJsonArray, isJsonObject } from '../core/json';
import type { JsonObject, JsonValue } from '../core/json';
import type { ToolHints } from '../core/evaluation';

/** A tool as its server lists it. `raw` is the whole entry: what a digest of the definition covers. */
export interface ToolDefinition {
  readonly name: string;
  readonly raw: JsonObject;
  readonly title: string | null;
  readonly hints: ToolHints;
  readonly inputSchema: JsonObject;
}

export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  /** Entries that cannot be used: without a name, without a schema, or with what no digest can cover. */
  readonly unusable: number;
  readonly nextCursor: string | undefined;
}

/** Reads one page of `tools/list`; undefined where it is not such a page. One unusable entry does not spoil the rest. */
export function readToolPage(result: JsonObject): ToolPage | undefined {
  const { tools, nextCursor } = result;
  if (tools === undefined || !isJsonArray(tools)) return undefined;
  const usable = tools.map(readTool).filter((tool) => tool !== undefined);
  return {
    tools: usable,
    unusable: tools.length - usable.length,
    nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
  };
}

function readTool(raw: JsonValue): ToolDefinition | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { name, title, inputSchema, annotations } = raw;
  if (typeof name !== 'string' || inputSchema === undefined || !isJsonObject(inputSchema)) return undefined;
  if (jsonBytes(raw) === undefined) return undefined;
  const said = annotations !== undefined && isJsonObject(annotations) ? annotations : {};
  return {
    name,
    raw,
    title: text(title) ?? text(said['title']) ?? null,
    hints: { readOnly: flag(said['readOnlyHint']), destructive: flag(said['destructiveHint']) },
    inputSchema,
  };
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function flag(value: JsonValue | undefined): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

/** Bytes of a value's canonical JSON; undefined where it has none (too deep, infinite, half a surrogate pair). */
export function jsonBytes(value: JsonValue): number | undefined {
  try {
    return Buffer.byteLength(canonicalJson(value));
  } catch {
    return undefined;
  }
}
