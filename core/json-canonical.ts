import { isJsonArray, isPlainObject, isWellFormed } from './json-value';
import type { JsonObject, JsonValue } from './json-value';

/**
 * The one text of a JSON value after RFC 8785: names sorted by UTF-16 units, no blanks, shortest numbers, `-0` as `0`.
 * Nothing is coerced or dropped: what has no JSON form (undefined, NaN, a Date, half a surrogate pair) is a bug of the
 * caller and throws a TypeError. Numbers beyond 2^53-1 are written as they are; `parseStrictJson` is who refuses them.
 */
export function canonicalJson(value: JsonValue): string {
  return textOf(value);
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'object') throw new TypeError(`A ${typeof value} that has no JSON form cannot be digested`);
  return isJsonArray(value) ? canonicalArray(value) : canonicalObject(value);
}

/** Printable ASCII without quote and backslash: most texts, and JSON as they are. */
const PLAIN = /^[ !#-[\]-~]*$/;

function canonicalString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!isWellFormed(text)) throw new TypeError('A text with a lone surrogate cannot be digested');
  return JSON.stringify(text);
}

function canonicalArray(items: readonly JsonValue[]): string {
  let out = '';
  for (const item of items) out += `${out === '' ? '' : ','}${textOf(item)}`;
  return `[${out}]`;
}

function canonicalObject(value: JsonObject): string {
  if (!isPlainObject(value)) throw new TypeError('An object that is not plain data cannot be digested');
  let out = '';
  // The default order of `sort` is the one of RFC 8785: by UTF-16 units.
  for (const name of Object.keys(value).sort()) {
    out += `${out === '' ? '' : ','}${canonicalString(name)}:${textOf(value[name])}`;
  }
  return `{${out}}`;
}
