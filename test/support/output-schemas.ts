/** An output schema as real servers write them, with results that keep it and results that break it. */
export interface OutputSchemaCase {
  readonly name: string;
  readonly schema: object;
  readonly right: readonly object[];
  readonly wrong: readonly object[];
}

const node = { type: 'object', properties: { next: { $ref: '#' }, rows: { type: 'integer' } }, required: ['rows'] };

export const OUTPUT_SCHEMAS: readonly OutputSchemaCase[] = [
  {
    name: 'plain',
    schema: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] },
    right: [{ rows: 1 }, { rows: 1, more: true }],
    wrong: [{ rows: 'x' }, {}, { holdpoint: 1 }],
  },
  {
    name: 'closed, of draft-07 by name',
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] } },
      required: ['pair'],
      additionalProperties: false,
    },
    right: [{ pair: ['a', 1] }],
    wrong: [{ pair: [1, 'a'] }, { pair: ['a', 1], more: true }],
  },
  {
    name: 'with $defs, of 2020-12 by name',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { order: { $ref: '#/$defs/Order' } },
      required: ['order'],
      $defs: {
        Order: { type: 'object', properties: { lines: { type: 'array', items: { $ref: '#/$defs/Line' } } } },
        Line: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] },
      },
    },
    right: [{ order: { lines: [{ sku: 'a' }] } }],
    wrong: [{ order: { lines: [{ sku: 1 }] } }, { order: 1 }],
  },
  {
    name: 'which is a reference to one of its definitions',
    schema: {
      type: 'object',
      $ref: '#/definitions/Rows',
      definitions: { Rows: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] } },
    },
    right: [{ rows: 1 }],
    wrong: [{ rows: 'x' }, {}],
  },
  {
    name: 'with references to its properties, written with ~1 and %20',
    schema: {
      type: 'object',
      properties: { 'a/b': { type: 'integer' }, 'c d': { type: 'string' }, e: { $ref: '#/properties/a~1b' } },
      required: ['e'],
      patternProperties: { '^f': { $ref: '#/properties/c%20d' } },
    },
    right: [{ e: 1, f: 'x' }],
    wrong: [{ e: 'x' }, { e: 1, f: 2 }],
  },
  {
    name: 'which contains itself',
    schema: node,
    right: [{ rows: 1, next: { rows: 2, next: { rows: 3 } } }],
    wrong: [
      { rows: 1, next: { rows: 'x' } },
      // Not even inside a real result does the pending form count.
      { rows: 1, next: { holdpoint: { status: 'pending', message: 'm', operationId: 'op_1' } } },
    ],
  },
  {
    name: 'with an $id of its own at the root, and references by it',
    schema: {
      $id: 'https://vendor.example/rows.json',
      type: 'object',
      properties: { a: { $ref: 'https://vendor.example/rows.json#/$defs/N' }, b: { $ref: '#/$defs/N' } },
      required: ['a'],
      $defs: { N: { type: 'integer' } },
    },
    right: [{ a: 1, b: 2 }],
    wrong: [{ a: 'x' }, { a: 1, b: 'x' }],
  },
  {
    name: 'with members and data that are named like keywords',
    schema: {
      type: 'object',
      properties: {
        $ref: { type: 'string' },
        $id: { type: 'string' },
        const: { $ref: '#/$defs/default' },
        enum: { const: { $ref: '#/x' } },
      },
      required: ['$ref'],
      $defs: { default: { type: 'integer' } },
    },
    right: [{ $ref: 'a', $id: 'b', const: 1, enum: { $ref: '#/x' } }],
    wrong: [{ $ref: 1 }, { $ref: 'a', const: 'x' }, { $ref: 'a', enum: { $ref: '#/anyOf/0/x' } }],
  },
  {
    name: 'with definitions in a place that no dialect knows',
    schema: {
      type: 'object',
      properties: { a: { $ref: '#/components/schemas/A' } },
      required: ['a'],
      components: { schemas: { A: { anyOf: [{ $ref: '#/components/schemas/B' }] }, B: { type: 'integer' } } },
    },
    right: [{ a: 1 }],
    wrong: [{ a: 'x' }],
  },
  {
    name: 'with alternatives that are closed',
    schema: {
      type: 'object',
      oneOf: [
        { properties: { ok: { const: true } }, required: ['ok'], additionalProperties: false },
        { properties: { error: { type: 'string' } }, required: ['error'], additionalProperties: false },
      ],
    },
    right: [{ ok: true }, { error: 'x' }],
    wrong: [{ ok: false }, { ok: true, error: 'x' }],
  },
];

/** Output schemas that cannot be listed together with the pending form. */
export const UNUSABLE_SCHEMAS: readonly { readonly name: string; readonly schema: unknown }[] = [
  { name: 'a type that does not exist', schema: { type: 'objekt' } },
  { name: 'such a type further inside', schema: { type: 'object', properties: { a: { type: 'strnig' } } } },
  { name: 'another type than an object', schema: { type: 'array', items: {} } },
  { name: 'true', schema: true },
  { name: 'null', schema: null },
  { name: 'a reference to nothing', schema: { type: 'object', $ref: '#/$defs/Gone' } },
  { name: 'a reference that is no text', schema: { type: 'object', properties: { a: { $ref: 1 } } } },
  {
    name: 'an $id inside',
    schema: { type: 'object', properties: { a: { $id: 'https://vendor.example/a', type: 'integer' } } },
  },
  { name: 'an anchor', schema: { type: 'object', $defs: { a: { $anchor: 'a' } }, properties: { a: { $ref: '#a' } } } },
  { name: 'a reference to an anchor', schema: { type: 'object', properties: { a: { $ref: '#a' } } } },
  {
    name: 'a dynamic reference',
    schema: { type: 'object', $dynamicAnchor: 'n', properties: { a: { $dynamicRef: '#n' } } },
  },
  { name: 'a recursive reference', schema: { type: 'object', properties: { a: { $recursiveRef: '#' } } } },
  {
    name: 'a reference that its $id places elsewhere',
    schema: { $id: 'https://vendor.example/a/b', type: 'object', properties: { a: { $ref: 'c' } } },
  },
  {
    name: 'a reference to a document that nobody has',
    schema: { type: 'object', properties: { a: { $ref: 'https://vendor.example/c' } } },
  },
  {
    name: 'a dialect that clients do not know',
    schema: { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
  },
  {
    name: 'a tuple as it was written before 2020-12',
    schema: { type: 'object', properties: { a: { type: 'array', items: [{ type: 'string' }] } } },
  },
  {
    name: 'what only clients of an older dialect stumble over',
    schema: { type: 'object', properties: { a: { additionalItems: 'none' } } },
  },
  { name: 'a dialect that is no text', schema: { $schema: 7, type: 'object' } },
  { name: 'a pattern that is none', schema: { type: 'object', properties: { a: { pattern: '(' } } } },
];
