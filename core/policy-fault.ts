import { isJsonArray, isJsonObject } from './json';
import type { JsonValue } from './json';

/** Where in a policy something stands: keys and list positions from the top, `['rules', 0, 'approvers']`. */
export type PolicyPath = readonly (string | number)[];

/**
 * What kind of mistake a policy file has. `SYNTAX` is no YAML; `YAML_FEATURE` is YAML that a policy may not use;
 * `TOO_LARGE` is over the limit of size or depth; the rest is about keys, values, names and what they add up to.
 */
export type PolicyProblemCode =
  | 'POLICY_SYNTAX'
  | 'POLICY_TOO_LARGE'
  | 'POLICY_YAML_FEATURE'
  | 'POLICY_DUPLICATE_KEY'
  | 'POLICY_UNKNOWN_KEY'
  | 'POLICY_MISSING_KEY'
  | 'POLICY_WRONG_TYPE'
  | 'POLICY_BAD_VALUE'
  | 'POLICY_UNKNOWN_NAME'
  | 'POLICY_DUPLICATE_NAME'
  | 'POLICY_NO_REVIEWERS'
  | 'POLICY_CONTRADICTION';

/** One mistake in a policy file, for a person: where it is (from 1), what is allowed, and what to do. */
export type PolicyProblem = {
  readonly code: PolicyProblemCode;
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: string | null;
};

/** A mistake before its place in the text is known: `at` says whether the key or the value is meant. */
export type PolicyFault = {
  readonly code: PolicyProblemCode;
  readonly path: PolicyPath;
  readonly at: 'key' | 'value';
  readonly message: string;
  readonly hint: string | null;
};

const LONGEST_SHOWN = 60;

/** What is wrong and what to do, without the place. */
export type FaultWords = { readonly message: string; readonly hint: string | null };

/** A mistake in the value at `path`. */
export function valueFault(code: PolicyProblemCode, path: PolicyPath, words: FaultWords): PolicyFault {
  return { code, path, at: 'value', ...words };
}

/** A mistake in the key at `path`. */
export function keyFault(code: PolicyProblemCode, path: PolicyPath, words: FaultWords): PolicyFault {
  return { code, path, at: 'key', ...words };
}

/** `rules[0].approvers`; the whole file is `the policy`. */
export function pathText(path: PolicyPath): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${nameText(step)}`)).join('');
  return text === '' ? 'the policy' : text.replace(/^\./, '');
}

/** A name as it is, or in quotes where it holds more than a plain name does. */
export function nameText(name: string): string {
  return /^[\w@*+/-]+$/.test(name) ? name : quoted(name);
}

/** A text in quotes, printable, and cut where it is long. */
export function quoted(text: string): string {
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return printable(JSON.stringify(shown));
}

/** A text with escapes for what cannot be seen, so that a file cannot write over the message about it. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e…]/g, escaped);
}

function escaped(unit: string): string {
  return /[\p{L}\p{N}]/u.test(unit) ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The JSON pointer to a member of this name. */
export function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What was received, for a message: scalars as they are, containers by kind, nothing for an empty value. */
export function received(value: JsonValue): string {
  if (value === null) return 'nothing';
  if (typeof value === 'string') return quoted(value);
  if (isJsonArray(value)) return 'a list';
  return isJsonObject(value) ? 'a mapping' : String(value);
}

/** A list of names for a message; `none` where it is empty. */
export function namesText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(nameText).join(', ');
}
