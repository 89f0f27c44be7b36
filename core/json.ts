/** Everything about JSON that the rest of Holdpoint uses; the parts are one idea a file. */
export { canonicalJson } from './json-canonical';
export { checkJsonValue } from './json-check';
export { atPointer, parseJsonPointer } from './json-pointer';
export { parseStrictJson } from './json-scan';
export { isJsonArray, isJsonObject } from './json-value';
export type { JsonObject, JsonRefusal, JsonResult, JsonValue } from './json-value';
