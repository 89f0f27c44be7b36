import { isJsonArray, isJsonObject } from './json-value';
import type { JsonValue } from './json-value';

/** The unescaped reference tokens of a JSON pointer, or what is wrong with its text. */
export type JsonPointerResult =
  | { readonly ok: true; readonly tokens: readonly string[] }
  | { readonly ok: false; readonly code: 'JSON_POINTER_SYNTAX'; readonly detail: string };

/** What a pointer finds; a member that is `null` is found. */
export type PointerTarget = { readonly found: true; readonly value: JsonValue } | { readonly found: false };

/** Reads a JSON pointer (RFC 6901, the plain form without `#`). The empty pointer is the whole value. */
export function parseJsonPointer(pointer: string): JsonPointerResult {
  if (pointer === '') return { ok: true, tokens: [] };
  if (!pointer.startsWith('/')) return malformed('it must be empty or begin with "/"');
  if (/~(?![01])/.test(pointer)) return malformed('"~" must be written "~0", and "/" inside a name "~1"');
  const tokens = pointer.slice(1).split('/');
  return { ok: true, tokens: tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')) };
}

function malformed(rule: string): JsonPointerResult {
  return { ok: false, code: 'JSON_POINTER_SYNTAX', detail: `Not a JSON pointer: ${rule}.` };
}

/**
 * The value at `pointer`, by own members and written indices only: `/constructor` or `/length` finds nothing in `{}`
 * or `[]`. A malformed pointer finds nothing, so that a rule on it asks.
 */
export function atPointer(value: JsonValue, pointer: string): PointerTarget {
  const parsed = parseJsonPointer(pointer);
  if (!parsed.ok) return { found: false };
  let at: JsonValue | undefined = value;
  for (const token of parsed.tokens) {
    at = member(at, token);
    if (at === undefined) return { found: false };
  }
  return { found: true, value: at };
}

function member(value: JsonValue, token: string): JsonValue | undefined {
  if (isJsonArray(value)) return /^(?:0|[1-9][0-9]*)$/.test(token) ? value[Number(token)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}
