import { keyedToken } from '../core/digest';
import { isJsonArray, isJsonObject, parseJsonPointer, type JsonObject, type JsonValue } from '../core/json';

/** A copy of `value` in which what each pointer names is its keyed token; a pointer that finds nothing changes nothing. */
export function maskSecrets(value: JsonObject, pointers: readonly string[], key: Uint8Array): JsonObject {
  return pointers.reduce<JsonObject>((masked, pointer) => {
    const parsed = parseJsonPointer(pointer);
    return parsed.ok && parsed.tokens.length > 0 ? maskMember(masked, parsed.tokens, key) : masked;
  }, value);
}

function maskAt(value: JsonValue, tokens: readonly string[], key: Uint8Array): JsonValue {
  const [head, ...rest] = tokens;
  if (head === undefined) return keyedToken(key, value);
  if (isJsonArray(value))
    return value.map((entry, index) => (String(index) === head ? maskAt(entry, rest, key) : entry));
  return isJsonObject(value) ? maskMember(value, tokens, key) : value;
}

function maskMember(value: JsonObject, [head, ...rest]: readonly string[], key: Uint8Array): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, name === head ? maskAt(entry, rest, key) : entry]),
  );
}
