import { isJsonArray, isPlainObject, isWellFormed } from './json-value';
import type { JsonObject, JsonValue } from './json-value';

/**
 * The one text of a JSON value after RFC 8785: names sorted by UTF-16 units, no blanks, shortest numbers, `-0` as `0`.
 * Nothing is coerced or dropped: what has no JSON form (undefined, NaN, a Date, half a surrogate pair) is a bug of the
 * caller and throws a TypeError. Numbers beyond 2^53-1 are written as they are; `parseStrictJson` is who refuses them.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'object') throw new TypeError(`A ${typeof value} that has no JSON form cannot be digested`);
  return isJsonArray(value) ? canonicalArray(value) : canonicalObject(value);
}

function canonicalString(text: string): string {
  if (!isWellFormed(text)) throw new TypeError('A text with a lone surrogate cannot be digested');
  return JSON.stringify(text);
}

function canonicalArray(items: readonly JsonValue[]): string {
  let out = '';
  for (const item of items) out += `${out === '' ? '' : ','}${canonicalJson(item)}`;
  return `[${out}]`;
}

function canonicalObject(value: JsonObject): string {
  if (!isPlainObject(value)) throw new TypeError('An object that is not plain data cannot be digested');
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${canonicalString(name)}:${canonicalJson(member)}`).join(',')}}`;
}
