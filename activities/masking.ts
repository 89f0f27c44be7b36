import { keyedToken } from '../core/digest';
import { atPointer, isJsonArray, isJsonObject, parseJsonPointer, type JsonObject, type JsonValue } from '../core/json';

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

/** A text that is secret, and the token that stands for it. */
export type SecretText = readonly [text: string, token: string];

/** What is shorter is a part of too many other texts to stand out, and is no secret. */
const SHORTEST_SECRET = 4;

/** The secret texts of a call, as they are and as they stand inside JSON texts; the longest first. */
export function secretTexts(args: JsonObject, pointers: readonly string[], key: Uint8Array): readonly SecretText[] {
  const found = pointers.flatMap((pointer) => {
    const target = atPointer(args, pointer);
    return target.found ? textsIn(target.value) : [];
  });
  const texts = found.filter((text) => text.length >= SHORTEST_SECRET);
  const spelled = texts.flatMap((text): SecretText[] => {
    const token = keyedToken(key, text);
    return spellingsOf(text).map((spelling) => [spelling, token]);
  });
  return spelled.sort(([a], [b]) => b.length - a.length);
}

/** As it is, in a JSON text, and in a JSON text that is a text in another. */
function spellingsOf(text: string): readonly string[] {
  const inJson = (inner: string): string => JSON.stringify(inner).slice(1, -1);
  return [...new Set([text, inJson(text), inJson(inJson(text))])];
}

function textsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (isJsonArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Whether a masked value holds a token, and so is not all that was sent. */
export function holdsToken(masked: JsonValue): boolean {
  return /"secret:[0-9a-f]{32}"/.test(JSON.stringify(masked));
}

/** `text` of a server that may repeat what it was sent, with the tokens in place of the secrets. */
export function hideInText(text: string, secrets: readonly SecretText[]): string {
  return secrets.reduce((shown, [secret, token]) => shown.replaceAll(secret, token), text);
}

/** `hideInText` over every text of a value, and over the names of its members. */
export function hideSecrets(value: JsonValue, secrets: readonly SecretText[]): JsonValue {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return hideInText(value, secrets);
  if (isJsonArray(value)) return value.map((entry) => hideSecrets(entry, secrets));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [hideInText(name, secrets), hideSecrets(entry, secrets)]),
  );
}
