import type { JsonObject } from './json';

/**
 * A record of core's own types as JSON: they are made of JSON values only, which an interface cannot tell the compiler.
 * Not for values from outside: those pass `checkJsonValue`.
 */
export function jsonOf(record: object): JsonObject {
  return record as JsonObject;
}
