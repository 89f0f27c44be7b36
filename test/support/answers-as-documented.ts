import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import openapi from './openapi-3.1.schema.json';

type Json = Readonly<Record<string, unknown>>;

/** One answer of the API, as a test looks at it. */
export interface ApiAnswer {
  readonly status: number;
  readonly type: string;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

/** Throws where an answer is not what the document says of its path, method, status and content type. */
export type CheckAnswer = (method: string, path: string, answer: ApiAnswer) => void;

/** What is wrong with an OpenAPI 3.1 document by the published schema of such documents; empty where nothing is. */
export function faultsOf(document: unknown): readonly string[] {
  // It marks one text by a format that is of no use here.
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'media-range': true } });
  addFormats(ajv);
  const validate = ajv.compile(openapi);
  validate(document);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
}

/** Checks answers against the document. Members that it does not name are faults too. */
export function answersAsDocumented(document: Json): CheckAnswer {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
  addFormats(ajv);
  // Its vocabulary is that of JSON Schema, but for these words of OpenAPI.
  for (const word of ['example', 'discriminator', 'externalDocs', 'xml']) ajv.addKeyword(word);
  const named = at(document, ['components', 'schemas']) as Json;
  for (const [name, schema] of Object.entries(named)) ajv.addSchema(closed(pointed(schema)) as Json, name);
  const compiled = new Map<string, ValidateFunction>();
  return (method, path, answer) => {
    const template = templateOf(document, path);
    if (template === undefined) {
      if (answer.status === 404 || answer.status === 401) return;
      throw new Error(`${method} ${path}: the document has no such path`);
    }
    const operation = at(document, ['paths', template, method.toLowerCase()]);
    if (operation === undefined) {
      if (answer.status === 405 || answer.status === 401) return;
      throw new Error(`${method} ${path}: the document has no such method`);
    }
    const type = answer.type.replace(/;.*/, '');
    const schema = at(operation, ['responses', String(answer.status), 'content', type, 'schema']);
    if (schema === undefined) throw new Error(`${method} ${template}: ${answer.status} ${type} is not documented`);
    if (type === 'text/event-stream') return;
    const key = `${method} ${template} ${answer.status}`;
    const validate = compiled.get(key) ?? ajv.compile(closed(pointed(schema)) as Json);
    compiled.set(key, validate);
    if (!validate(answer.body))
      throw new Error(`${key} is not as documented: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
  };
}

function templateOf(document: Json, path: string): string | undefined {
  const parts = path.replace(/\?.*/, '').split('/');
  const fits = (template: string) => {
    const names = template.split('/');
    return (
      names.length === parts.length &&
      names.every((name, at) => (name.startsWith('{') ? parts[at] !== '' : name === parts[at]))
    );
  };
  return Object.keys(document['paths'] as Json).find(fits);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value);
}

/** References into the document as references to schemas by name. */
function pointed(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"'));
}

/** The schema with every object closed whose members it lists. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const lists =
    'properties' in inner && !('additionalProperties' in inner) && [inner['type']].flat().includes('object');
  return lists ? { ...inner, additionalProperties: false } : inner;
}
