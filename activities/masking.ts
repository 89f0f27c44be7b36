import { keyedToken } from '../core/digest';
import { parseJsonPointer, type JsonObject, type JsonValue } from '../core/json';

/** A copy of `value` in which what each pointer names is its keyed token; a pointer that finds nothing changes nothing. */
export function maskSecrets(value: JsonObject, pointers: readonly string[], key: Uint8Array): JsonObject {
  return pointers.reduce<JsonObject>((masked, pointer) => {
    const parsed = parseJsonPointer(pointer);
    return parsed.ok ? (maskAt(masked, parsed.tokens, key) as JsonObject) : masked;
  }, value);
}

function maskAt(value: JsonValue, tokens: readonly string[], key: Uint8Array): JsonValue {
  const [head, ...rest] = tokens;
  if (head === undefined) return keyedToken(key, value);
  if (Array.isArray(value)) {
    return value.map((entry: JsonValue, index) => (String(index) === head ? maskAt(entry, rest, key) : entry));
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, head)) return value;
  const members = Object.entries(value as JsonObject);
  return Object.fromEntries(members.map(([name, entry]) => [name, name === head ? maskAt(entry, rest, key) : entry]));
}

/** Whether a pointer lies at or below one of `secrets`, or above one: what it names then holds a secret. */
export function touchesSecret(pointer: string, secrets: readonly string[]): boolean {
  return secrets.some(
    (secret) => pointer === secret || pointer.startsWith(`${secret}/`) || secret.startsWith(`${pointer}/`),
  );
}
