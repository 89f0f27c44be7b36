/** Any JSON value as plain data; what `parseStrictJson` and `checkJsonValue` return is at most as deep as their limit. */
export type JsonValue = string | number | boolean | null | JsonArray | JsonObject;

/** A JSON array. */
export type JsonArray = readonly JsonValue[];

/** A JSON object: only its own members count, so read an untrusted name with `atPointer` or after `Object.hasOwn`. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** Limits of one value: `maxBytes` of JSON text in UTF-8, `maxDepth` of containers inside each other. */
export interface JsonLimits {
  readonly maxBytes?: number;
  readonly maxDepth?: number;
}

/** Bytes of JSON text where the caller states no limit: 256 KiB. */
export const MAX_JSON_BYTES = 262_144;

/** Containers inside each other where the caller states no limit: `[[1]]` is 2. */
export const MAX_JSON_DEPTH = 64;

/** Why a JSON text or value is refused. */
export type JsonRefusalCode =
  | 'JSON_SYNTAX'
  | 'JSON_DUPLICATE_NAME'
  | 'JSON_UNSAFE_NUMBER'
  | 'JSON_LONE_SURROGATE'
  | 'JSON_NUL'
  | 'JSON_FORBIDDEN_NAME'
  | 'JSON_TOO_DEEP'
  | 'JSON_TOO_LARGE';

/** `detail` names the rule, the place as a JSON pointer and what to do, never a value; `offset` counts UTF-16 units. */
export interface JsonRefusal {
  readonly ok: false;
  readonly code: JsonRefusalCode;
  readonly detail: string;
  readonly offset: number;
}

/** A value that keeps every rule of this module, or the first rule that it breaks. */
export type JsonResult = { readonly ok: true; readonly value: JsonValue } | JsonRefusal;

/** Tells a JSON array from the other values. */
export function isJsonArray(value: JsonValue): value is JsonArray {
  return Array.isArray(value);
}

/** Tells a JSON object from the other values. */
export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !isJsonArray(value);
}

/** False where a text holds half of a surrogate pair: such a text has no UTF-8 form, so no digest. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/**
 * True for an object literal of any realm: the Temporal sandbox and Jest each have an `Object.prototype` of their own.
 * Dates, maps, arrays and class instances are not plain.
 */
export function isPlainObject(value: object): boolean {
  const prototype = Reflect.getPrototypeOf(value);
  if (prototype === null) return true;
  return Reflect.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}
