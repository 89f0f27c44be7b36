/** Everything about JSON that the rest of Holdpoint uses; the parts are one idea a file. */
export { canonicalJson } from './json-canonical';
export { checkJsonValue } from './json-check';
export { atPointer, parseJsonPointer } from './json-pointer';
export type { JsonPointerResult, PointerTarget } from './json-pointer';
export { parseStrictJson } from './json-scan';
export { MAX_JSON_BYTES, MAX_JSON_DEPTH, isJsonArray, isJsonObject } from './json-value';
export type {
  JsonArray,
  JsonLimits,
  JsonObject,
  JsonRefusal,
  JsonRefusalCode,
  JsonResult,
  JsonValue,
} from './json-value';
