import { Ajv } from 'ajv';
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019';
import { Ajv2020 } from 'ajv/dist/2020';
import { fullFormats } from 'ajv-formats/dist/formats';
import { digestOf } from '../core/digest';
import { showText } from '../core/display';
import type { JsonObject } from '../core/json';

export type ArgumentsCheck = { readonly ok: true } | { readonly ok: false; readonly detail: string };

const MOST_CACHED = 500;
const MOST_SHOWN = 5;

/** Nothing here may change what is checked: no coercion, no defaults, nothing removed. */
const OPTIONS: Options = {
  strict: false,
  formats: fullFormats,
  allErrors: true,
  // `{}` has no member named `constructor`.
  ownProperties: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  // An `$id` that two tools share is no conflict.
  addUsedSchema: false,
  logger: false,
  code: { regExp: Object.assign(patternOf, { code: 'patternOf' }) },
};

const dialects: Readonly<Record<string, Pick<Ajv, 'compile' | 'removeSchema'>>> = {
  'json-schema.org/draft-07/schema': new Ajv(OPTIONS),
  'json-schema.org/draft/2019-09/schema': new Ajv2019(OPTIONS),
  'json-schema.org/draft/2020-12/schema': new Ajv2020(OPTIONS),
};

/** What MCP assumes where a schema names no dialect. */
const DEFAULT_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

type Compiled = { readonly validate: ValidateFunction } | { readonly fault: string };

const cache = new Map<string, Compiled>();

/**
 * Checks a call's arguments, with everything that Holdpoint fills in, against the tool's schema, and changes nothing.
 * A schema that cannot be used refuses the call.
 */
export function checkArguments(inputSchema: JsonObject, args: JsonObject): ArgumentsCheck {
  const compiled = compiledOf(inputSchema);
  if ('fault' in compiled) return { ok: false, detail: `the schema of the tool cannot be used (${compiled.fault})` };
  const { validate } = compiled;
  if (validate(args)) return { ok: true };
  return { ok: false, detail: describe(validate.errors ?? []) };
}

function compiledOf(schema: JsonObject): Compiled {
  const key = digestOf(schema);
  const known = cache.get(key);
  const compiled = known ?? compile(schema);
  // The one used last stands last, so the first is the one unused for longest.
  cache.delete(key);
  cache.set(key, compiled);
  const [oldest] = cache.keys();
  if (cache.size > MOST_CACHED && oldest !== undefined) cache.delete(oldest);
  return compiled;
}

function compile(schema: JsonObject): Compiled {
  const { $schema: named = DEFAULT_DIALECT } = schema;
  const dialect = typeof named === 'string' ? named.replace(/^https?:\/\//, '').replace(/#$/, '') : '';
  const ajv = Object.hasOwn(dialects, dialect) ? dialects[dialect] : undefined;
  if (ajv === undefined) return { fault: `it is of a dialect other than ${Object.keys(dialects).join(', ')}` };
  try {
    return { validate: ajv.compile(schema) };
  } catch (error) {
    return { fault: showText(error instanceof Error ? error.message : String(error)) };
  } finally {
    // The cache above is the one that is bounded.
    ajv.removeSchema(schema);
  }
}

function describe(errors: readonly ErrorObject[]): string {
  const lines = errors.map((error) => showText(`${error.instancePath || 'the arguments'} ${ruleOf(error)}`));
  const distinct = [...new Set(lines)];
  const more = distinct.length - MOST_SHOWN;
  return distinct.slice(0, MOST_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** The rule that was broken; where its words alone do not say so, what it wants or names. Never the value. */
function ruleOf({ keyword, message = keyword, params }: ErrorObject): string {
  const named: unknown = params['additionalProperty'] ?? params['unevaluatedProperty'] ?? params['propertyName'];
  if (typeof named === 'string') return `${message}: ${named}`;
  const allowed: unknown = params['allowedValues'] ?? params['allowedValue'];
  return allowed === undefined ? message : `${message}: ${JSON.stringify(allowed)}`;
}

/** Patterns are Unicode ones; many servers list older ones, with escapes that Unicode patterns do not have. */
function patternOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}
