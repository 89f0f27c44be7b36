import { createHash } from 'node:crypto';
import { Ajv } from 'ajv';
import type { Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019';
import { Ajv2020 } from 'ajv/dist/2020';
import { fullFormats } from 'ajv-formats/dist/formats';
import type { JsonObject } from '../../core/json';

/** As MCP clients compile what is listed to them; a schema is never added, so an `$id` that two share is no conflict. */
const OPTIONS: Options = {
  strict: false,
  validateSchema: false,
  formats: fullFormats,
  addUsedSchema: false,
  logger: false,
  // Nothing is validated here, and the optimiser takes most of the time.
  code: { optimize: false },
};

const MOST_CACHED = 500;

type Compiler = Pick<Ajv, 'compile' | 'removeSchema'>;

/** What many clients take for every schema, whatever dialect it names. */
const usual = new Ajv(OPTIONS);

const dialects: Readonly<Record<string, Compiler>> = {
  'json-schema.org/draft-06/schema': usual,
  'json-schema.org/draft-07/schema': usual,
  'json-schema.org/draft/2019-09/schema': new Ajv2019(OPTIONS),
  'json-schema.org/draft/2020-12/schema': new Ajv2020(OPTIONS),
};

/** What MCP assumes where a schema names no dialect. */
const DEFAULT_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

const cache = new Map<string, boolean>();

/**
 * Whether clients can compile a schema: as many of them do, and in its own dialect, which they must know. One that cannot be compiled costs a
 * client its whole list of tools.
 * @param text the JSON text of `schema`.
 */
export function isUsableSchema(text: string, schema: JsonObject): boolean {
  const key = createHash('sha256').update(text, 'utf16le').digest('base64');
  const usable = cache.get(key) ?? (compiles(usual, schema) && compiles(ownOf(schema), schema));
  // The one used last stands last, so the first is the one unused for longest.
  cache.delete(key);
  cache.set(key, usable);
  const [oldest] = cache.keys();
  if (cache.size > MOST_CACHED && oldest !== undefined) cache.delete(oldest);
  return usable;
}

function ownOf({ $schema: named = DEFAULT_DIALECT }: JsonObject): Compiler | undefined {
  const dialect = typeof named === 'string' ? named.replace(/^https?:\/\//, '').replace(/#$/, '') : '';
  return Object.hasOwn(dialects, dialect) ? dialects[dialect] : undefined;
}

function compiles(compiler: Compiler | undefined, schema: JsonObject): boolean {
  if (compiler === undefined) return false;
  try {
    compiler.compile(schema);
    return true;
  } catch {
    return false;
  } finally {
    compiler.removeSchema(schema);
  }
}
