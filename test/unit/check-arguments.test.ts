import { checkArguments } from '../../activities/check-arguments';
import type { JsonObject } from '../../core/json';

const migration: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    environment: { enum: ['staging', 'production'] },
    sql: { type: 'string', minLength: 1 },
    operation_id: { type: 'string' },
    amount: { type: 'number' },
    currency: { type: 'string', default: 'EUR' },
    at: { type: 'string', format: 'date-time' },
  },
  required: ['environment', 'sql', 'operation_id'],
  additionalProperties: false,
};
const good = { environment: 'production', sql: 'SELECT 1', operation_id: 'op_1' };

function detail(schema: JsonObject, args: JsonObject): string {
  const checked = checkArguments(schema, args);
  return checked.ok ? 'ok' : checked.detail;
}

describe('checkArguments', () => {
  it.each([
    { name: 'what fits', args: good, expected: 'ok' },
    {
      name: 'a value of another type: nothing is coerced',
      args: { ...good, amount: '100' },
      expected: '/amount must be number',
    },
    {
      name: 'a field that the schema does not know: nothing is removed',
      args: { ...good, extra: 1 },
      expected: 'the arguments must NOT have additional properties: extra',
    },
    {
      name: 'a missing field',
      args: { environment: 'production', sql: 'x' },
      expected: "the arguments must have required property 'operation_id'",
    },
    {
      name: 'a value that is not among those allowed',
      args: { ...good, environment: 'prod' },
      expected: '/environment must be equal to one of the allowed values: ["staging","production"]',
    },
    {
      name: 'a text of another format',
      args: { ...good, at: 'tomorrow' },
      expected: '/at must match format "date-time"',
    },
    {
      name: 'several faults',
      args: { ...good, sql: '', amount: true },
      expected: '/sql must NOT have fewer than 1 characters; /amount must be number',
    },
  ])('states path and rule: $name [CANON-10]', ({ args, expected }) => {
    expect(detail(migration, args)).toBe(expected);
  });

  it('changes nothing, and fills in no default [CANON-10] [CANON-11]', () => {
    const args = Object.freeze({ ...good });
    expect(checkArguments(migration, args)).toEqual({ ok: true });
    expect(args).toEqual({ environment: 'production', sql: 'SELECT 1', operation_id: 'op_1' });
  });

  it('tells a field left out, null and a default apart [CANON-11]', () => {
    expect(detail(migration, good)).toBe('ok');
    expect(detail(migration, { ...good, currency: 'EUR' })).toBe('ok');
    expect(detail(migration, { ...good, currency: null })).toBe('/currency must be string');
  });

  it('reads patterns as Unicode, and those with escapes of older ones too', () => {
    expect(detail({ properties: { a: { pattern: '^.$' } } }, { a: '😀' })).toBe('ok');
    const older = { properties: { a: { pattern: '^[^\\s\\@]+\\@x$' } } };
    expect(detail(older, { a: 'me@x' })).toBe('ok');
    expect(detail(older, { a: 'me' })).toBe('/a must match pattern "^[^\\s\\@]+\\@x$"');
  });

  it('never shows a value', () => {
    expect(detail({ properties: { password: { type: 'string', pattern: '^a' } } }, { password: 'hunter2' })).toBe(
      '/password must match pattern "^a"',
    );
  });

  it('takes members of every object for absent', () => {
    expect(detail({ required: ['constructor'] }, {})).toBe("the arguments must have required property 'constructor'");
  });

  it('reads 2020-12 where a schema names no dialect, and draft-07 where it does', () => {
    const tuple = { properties: { pair: { prefixItems: [{ type: 'string' }] } } };
    expect(detail(tuple, { pair: [1] })).toBe('/pair/0 must be string');
    expect(detail({ ...tuple, $schema: 'http://json-schema.org/draft-07/schema#' }, { pair: [1] })).toBe('ok');
  });

  it.each([
    { name: 'a type that does not exist', schema: { type: 'objekt' } },
    { name: 'a reference to nowhere', schema: { $ref: '#/$defs/missing' } },
    { name: 'a reference to another host', schema: { $ref: 'https://example.com/schema.json' } },
    { name: 'a pattern that is none', schema: { properties: { a: { pattern: '(' } } } },
    { name: 'a dialect that is not known', schema: { $schema: 'http://json-schema.org/draft-04/schema#' } },
    { name: 'a dialect that is no text', schema: { $schema: 7 } },
  ])('refuses by a schema with $name, and does not throw', ({ schema }) => {
    expect(detail(schema, {})).toMatch(/^the schema of the tool cannot be used \(.+\)$/);
  });

  it('keeps schemas with one $id apart', () => {
    const $id = 'https://example.com/same';
    expect(detail({ $id, required: ['a'] }, {})).toBe("the arguments must have required property 'a'");
    expect(detail({ $id, required: ['b'] }, {})).toBe("the arguments must have required property 'b'");
  });

  it('shows what a server or a model wrote without its invisible characters', () => {
    expect(detail({ additionalProperties: false }, { 'a\u202Eb': 1 })).toBe(
      'the arguments must NOT have additional properties: a⟦U+202E⟧b',
    );
  });

  it('names five faults and counts the rest', () => {
    const args = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, 1]));
    expect(detail({ additionalProperties: { type: 'string' } }, args)).toBe(
      '/a must be string; /b must be string; /c must be string; /d must be string; /e must be string; and 2 more',
    );
  });

  it('works for more schemas than it remembers', () => {
    for (let index = 0; index < 600; index += 1) {
      expect(detail({ required: [`field${index}`] }, {})).toBe(
        `the arguments must have required property 'field${index}'`,
      );
    }
    expect(detail({ required: ['field0'] }, { field0: 1 })).toBe('ok');
  });
});
