import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import { AjvJsonSchemaValidator as NewAjvValidator } from '@modelcontextprotocol/client/validators/ajv';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { pendingForm } from '../../gateway/answers/pending-form';
import { withoutArguments } from '../../gateway/lists/hidden-arguments';
import { withPendingForm } from '../../gateway/lists/pending-schema';
import { OUTPUT_SCHEMAS, UNUSABLE_SCHEMAS } from '../support/output-schemas';

type Check = (value: object) => boolean;
type Provider = { getValidator(schema: never): (value: never) => { readonly valid: boolean } };
const strict = { strict: false, logger: false } as const;

const by =
  (provider: Provider) =>
  (schema: object): Check => {
    const validate = provider.getValidator(schema as never);
    return (value) => validate(value as never).valid;
  };

/** Validators as clients use them: those of both SDKs, and ajv for draft-07 and for 2020-12 with their meta-schemas. */
const validators: Readonly<Record<string, (schema: object) => Check>> = {
  'the SDK': by(new AjvJsonSchemaValidator()),
  'the SDK in its second version': by(new NewAjvValidator()),
  'the SDK where no code may be made': by(new CfWorkerJsonSchemaValidator()),
  'ajv of draft-07': (schema) => new Ajv(strict).compile(schema) as Check,
  'ajv of 2020-12': (schema) => new Ajv2020(strict).compile(schema) as Check,
};
const known = (schema: object, dialect: string): boolean => {
  const named = (schema as { $schema?: string }).$schema;
  return !dialect.startsWith('ajv') || named === undefined || named.includes(dialect.slice('ajv of '.length));
};

const listedOf = (schema: unknown): Record<string, unknown> => {
  const listed = withPendingForm(JSON.stringify(schema));
  expect(listed).not.toBeNull();
  return JSON.parse(String(listed)) as Record<string, unknown>;
};

describe.each(Object.keys(validators))('the listed schema, read by %s,', (dialect) => {
  const cases = OUTPUT_SCHEMAS.filter(({ schema }) => known(schema, dialect));

  it.each(cases)('admits real results and the pending form, $name [GATE-11]', ({ schema, right }) => {
    const check = validators[dialect]!(listedOf(schema));
    for (const result of right) expect([result, check(result)]).toEqual([result, true]);
    for (const status of ['pending', 'allowed', 'running', 'executed'] as const) {
      expect(check(pendingForm({ status, message: 'NOT EXECUTED', operationId: 'op_1' }))).toBe(true);
    }
  });

  it.each(cases)('holds real results to the original, $name [GATE-11]', ({ schema, wrong }) => {
    const check = validators[dialect]!(listedOf(schema));
    const original = validators[dialect]!(schema);
    for (const result of wrong) expect([result, original(result), check(result)]).toEqual([result, false, false]);
  });
});

describe('the listed schema', () => {
  it('is anyOf of the original and the pending form, an object at the top', () => {
    expect(listedOf({ type: 'object', properties: { a: { $ref: '#/x' } }, x: {} })).toEqual({
      type: 'object',
      anyOf: [
        { type: 'object', properties: { a: { $ref: '#/anyOf/0/x' } }, x: {} },
        {
          type: 'object',
          description: 'Not an answer of the tool: where a call stands that needs approval. Read the message.',
          properties: {
            holdpoint: {
              type: 'object',
              properties: {
                status: { enum: ['pending', 'allowed', 'running', 'executed'] },
                message: { type: 'string' },
                operationId: { type: 'string' },
              },
              required: ['status', 'message', 'operationId'],
              additionalProperties: false,
            },
          },
          required: ['holdpoint'],
          additionalProperties: false,
        },
      ],
    });
  });

  it('names the dialect where only a root may, and has no $id that another one could meet', () => {
    const { $schema, anyOf } = listedOf({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: 'x',
      type: 'object',
    });
    expect($schema).toBe('http://json-schema.org/draft-07/schema#');
    expect((anyOf as object[])[0]).toEqual({ type: 'object' });
  });

  it('keeps the original to the byte, but for its references', () => {
    const numbers = '"maximum": 18446744073709551615,  "x-n":1e400, "x-n":2';
    const listed = withPendingForm(`{ "type":"object", "properties": {"a": {${numbers}}, "b":{"$ref" : "#"}} }`);
    expect(listed).toMatch(
      /^\{"type":"object","anyOf":\[\{ "type":"object", "properties": \{"a": \{"maximum": 18446744073709551615, {2}"x-n":1e400, "x-n":2\}, "b":\{"\$ref" : "#\/anyOf\/0"\}\} \},\{/,
    );
  });

  it('does not admit the pending form with anything wrong in it', () => {
    const check = validators['the SDK']!(listedOf(OUTPUT_SCHEMAS[0]!.schema));
    const form = { status: 'pending', message: 'm', operationId: 'op_1' };
    expect(check({ holdpoint: form })).toBe(true);
    expect(check({ holdpoint: { ...form, status: 'done' } })).toBe(false);
    expect(check({ holdpoint: { status: 'pending' } })).toBe(false);
    expect(check({ holdpoint: { ...form, more: 1 } })).toBe(false);
    expect(check({ holdpoint: form, rows: 'x' })).toBe(false);
  });

  it.each(UNUSABLE_SCHEMAS)('is not to be had from $name [LIST-7]', ({ schema }) => {
    expect(withPendingForm(JSON.stringify(schema))).toBeNull();
  });

  it('is not to be had from a schema of any depth or length', () => {
    const deep = `${'{"not":'.repeat(5_000)}{}${'}'.repeat(5_000)}`;
    expect(withPendingForm(`{"type":"object","not":${deep}}`)).toBeNull();
    expect(withPendingForm(`{"type":"object","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBeNull();
    expect(withPendingForm(`{"type":"object","description":"${'x'.repeat(65_536)}"}`)).toBeNull();
  });

  it('is the same again, however many others were listed meanwhile', () => {
    const first = withPendingForm('{"type":"object","title":"first"}');
    for (let n = 0; n < 501; n += 1) expect(withPendingForm(`{"type":"object","title":"${n}"}`)).not.toBeNull();
    expect(withPendingForm('{"type":"object","title":"first"}')).toBe(first);
  });
});

describe('an input schema without the arguments that are filled in', () => {
  it.each<[string, string, readonly string[], string]>([
    [
      'neither offers nor requires them',
      '{"type":"object", "properties": {"a":{}, "op" : {"type":"string"}}, "required": ["op", "a"]}',
      ['op'],
      '{"type":"object", "properties": {"a":{}}, "required": ["a"]}',
    ],
    ['loses the first of them', '{"properties":{ "op":{}, "a":{}}}', ['op'], '{"properties":{ "a":{}}}'],
    ['loses the only one', '{"properties":{ "op":{} },"required":["op"]}', ['op'], '{"properties":{  },"required":[]}'],
    ['loses several', '{"properties":{"a":1,"b":2,"c":3,"d":4,"e":5}}', ['a', 'b', 'd', 'e'], '{"properties":{"c":3}}'],
    ['loses all', '{"properties":{"a":1,"b":2,"c":3}}', ['c', 'b', 'a'], '{"properties":{}}'],
    [
      'finds an escaped name',
      '{"properties":{"\\u006fp":1,"a":2},"required":["\\u006fp"]}',
      ['op'],
      '{"properties":{"a":2},"required":[]}',
    ],
    ['loses it as often as it stands there', '{"properties":{"op":1,"a":2,"op":3}}', ['op'], '{"properties":{"a":2}}'],
    [
      'keeps what only has such a name elsewhere',
      '{"x":{"op":1},"properties":{"a":{"properties":{"op":{}},"required":["op"]}},"required":[1,"a"]}',
      ['op'],
      '{"x":{"op":1},"properties":{"a":{"properties":{"op":{}},"required":["op"]}},"required":[1,"a"]}',
    ],
    [
      'keeps what has another shape',
      '{"properties":["op"],"required":{"op":1}}',
      ['op'],
      '{"properties":["op"],"required":{"op":1}}',
    ],
    ['keeps what is no schema', 'true', ['op'], 'true'],
  ])('%s', (_name, text, hidden, shown) => {
    expect(withoutArguments(text, hidden)).toBe(shown);
  });
});
