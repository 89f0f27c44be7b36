import { atPointer } from './json';
import type { JsonValue } from './json';
import type { MaterialField } from './evaluation';
import type { MaterialKind, MaterialSpec, ToolEntry } from './policy';
import { unreachable } from './unreachable';

/** A decimal that a double holds to the last digit: money in text, as payment services write it. */
const DECIMAL_TEXT = /^-?(?=.{1,16}$)\d+(?:\.\d+)?$/;

/** RFC 3339: a date, or a date and time with its offset. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/;

/**
 * The material fields of one call, raw, in the order of the policy. A field that is absent, or whose value is of another
 * kind than the policy says, is not found.
 * @param entry the tool's entry; undefined where the policy has none: no material.
 * @param state the answer of the tool's `state` read; null where there is none.
 */
export function readMaterial(
  entry: ToolEntry | undefined,
  args: JsonValue,
  state: JsonValue | null,
): readonly MaterialField[] {
  return (entry?.material ?? []).map((spec) => readField(spec, spec.from === 'state' ? state : args));
}

function readField(spec: MaterialSpec, source: JsonValue): MaterialField {
  const target = atPointer(source, spec.at);
  const found = target.found && isOfKind(spec.as, target.value);
  return { ...spec, found, value: target.found && found ? target.value : null };
}

function isOfKind(kind: MaterialKind, value: JsonValue): boolean {
  switch (kind) {
    case 'text':
    case 'sql':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'amount':
      return amountOf(value) !== null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'timestamp':
      return typeof value === 'string' && TIMESTAMP.test(value) && !Number.isNaN(Date.parse(value));
    case 'json':
      return true;
    default:
      return unreachable(kind);
  }
}

/** The number of an amount: a JSON number, or a decimal text of at most 16 characters; null for anything else. */
export function amountOf(value: JsonValue): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && DECIMAL_TEXT.test(value) ? Number(value) : null;
}

/** Amounts of a call by material field, for the totals of a window. */
export function amountsOf(material: readonly MaterialField[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    material.flatMap(({ name, value }) => {
      const amount = amountOf(value);
      return amount === null ? [] : [[name, amount]];
    }),
  );
}
