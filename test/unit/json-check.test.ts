import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { canonicalJson, checkJsonValue } from '../../core/json';
import type { JsonRefusal, JsonValue } from '../../core/json';
import { anyJson } from '../support/json-text';

function refused(value: unknown, limits = {}): JsonRefusal {
  const result = checkJsonValue(value, limits);
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`);
  return result;
}

function accepted(value: unknown, limits = {}): JsonValue {
  const result = checkJsonValue(value, limits);
  if (!result.ok) throw new Error(result.detail);
  return result.value;
}

function chain(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level += 1) value = { inner: value };
  return value;
}

class Money {
  readonly amount = 5;
}
class List extends Array<number> {}

const cycle: Record<string, unknown> = {};
cycle['self'] = [cycle, cycle];

describe('what JSON would change or drop in silence is refused [CANON-10]', () => {
  test.each([
    { name: 'undefined', value: undefined, code: 'JSON_SYNTAX' },
    { name: 'an undefined member', value: { a: undefined }, code: 'JSON_SYNTAX' },
    { name: 'a function', value: { toJSON: () => 1 }, code: 'JSON_SYNTAX' },
    { name: 'a symbol', value: [Symbol('s')], code: 'JSON_SYNTAX' },
    { name: 'a member named by a symbol', value: { [Symbol('s')]: 1 }, code: 'JSON_SYNTAX' },
    { name: 'a date', value: { at: new Date(0) }, code: 'JSON_SYNTAX' },
    { name: 'a map', value: new Map([['a', 1]]), code: 'JSON_SYNTAX' },
    { name: 'a class instance', value: new Money(), code: 'JSON_SYNTAX' },
    { name: 'an instance of a subclass of Array', value: List.from([1]), code: 'JSON_SYNTAX' },
    { name: 'bytes', value: new Uint8Array(2), code: 'JSON_SYNTAX' },
    { name: 'a boxed string', value: Object('x') as unknown, code: 'JSON_SYNTAX' },
    { name: 'an object with an invented prototype', value: Object.create({ a: 1 }) as unknown, code: 'JSON_SYNTAX' },
    {
      name: 'a prototype without a root',
      value: Object.create(Object.create(null) as object) as unknown,
      code: 'JSON_SYNTAX',
    },
    { name: 'a sparse array', value: Array(3), code: 'JSON_SYNTAX' },
    { name: 'an array with another member', value: Object.assign([1], { extra: 2 }), code: 'JSON_SYNTAX' },
    { name: 'a hole made up for by another member', value: Object.assign(Array(1), { extra: 2 }), code: 'JSON_SYNTAX' },
    { name: 'a hidden member', value: Object.defineProperty({}, 'a', { value: 1 }), code: 'JSON_SYNTAX' },
    { name: 'a bigint', value: { n: 5n }, code: 'JSON_UNSAFE_NUMBER' },
    { name: 'NaN', value: Number.NaN, code: 'JSON_UNSAFE_NUMBER' },
    { name: 'infinity', value: [Number.NEGATIVE_INFINITY], code: 'JSON_UNSAFE_NUMBER' },
    { name: 'an unsafe integer', value: 2 ** 53, code: 'JSON_UNSAFE_NUMBER' },
    { name: 'a large double', value: 6.02e23, code: 'JSON_UNSAFE_NUMBER' },
    { name: 'a lone surrogate', value: '\ud800', code: 'JSON_LONE_SURROGATE' },
    { name: 'a lone surrogate in a name', value: { '\udc00': 1 }, code: 'JSON_LONE_SURROGATE' },
    { name: 'U+0000', value: 'x\0y', code: 'JSON_NUL' },
    {
      name: 'an own __proto__',
      value: JSON.parse('{"__proto__":{"approved":true}}') as unknown,
      code: 'JSON_FORBIDDEN_NAME',
    },
    { name: 'a cycle', value: cycle, code: 'JSON_TOO_DEEP' },
  ])('$name: $code', ({ value, code }) => {
    expect(refused(value)).toMatchObject({ code, offset: 0 });
  });

  test('an accessor is refused unread, and so is what a proxy denies', () => {
    let reads = 0;
    const watched = Object.defineProperty({}, 'a', { enumerable: true, get: () => (reads += 1) });
    expect(refused(watched).code).toBe('JSON_SYNTAX');
    expect(reads).toBe(0);
    const evasive = new Proxy({}, { ownKeys: () => ['a'] });
    expect(refused(evasive).code).toBe('JSON_SYNTAX');
  });

  test("the error of a proxy's own trap is the caller's", () => {
    const broken = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new RangeError('trap');
        },
      },
    );
    expect(() => checkJsonValue(broken)).toThrow(new RangeError('trap'));
  });

  test('the message names the place and what to do, and no value', () => {
    expect(refused({ list: [1, { 'a/b': undefined }] }).detail).toBe(
      'undefined has no JSON form; leave it out or send null (at /list/1/a~1b)',
    );
    expect(refused({ password: 9007199254740993n }).detail).toBe(
      'A bigint has no JSON form; send it as a string (at /password)',
    );
  });
});

describe('what is accepted', () => {
  test('comes back as a deep copy of plain data', () => {
    const bare = Object.assign(Object.create(null) as object, { b: [true, null] });
    const value = { a: bare, constructor: { prototype: { x: 1 } }, n: 0.1, s: 'é"\n' };
    const copy = accepted(value);
    expect(copy).toEqual({ a: { b: [true, null] }, constructor: { prototype: { x: 1 } }, n: 0.1, s: 'é"\n' });
    bare.b.push(false);
    expect(copy).toMatchObject({ a: { b: [true, null] } });
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('may come from another realm, as in the workflow sandbox', () => {
    expect(accepted(runInContext('({ list: [1, { a: "b" }] })', createContext()))).toStrictEqual({
      list: [1, { a: 'b' }],
    });
  });

  test('a shared part is copied each time', () => {
    const shared = { a: 1 };
    expect(accepted([shared, shared])).toStrictEqual([{ a: 1 }, { a: 1 }]);
  });
});

describe('limits', () => {
  test('takes 64 containers inside each other, not 65 [CANON-8]', () => {
    expect(checkJsonValue(chain(64)).ok).toBe(true);
    expect(refused(chain(65)).code).toBe('JSON_TOO_DEEP');
    expect(refused(chain(100_000), { maxDepth: Infinity }).code).toBe('JSON_TOO_DEEP');
  });

  test('takes 262144 bytes of JSON, not one more [CANON-9]', () => {
    expect(checkJsonValue('x'.repeat(262_142)).ok).toBe(true);
    expect(refused('x'.repeat(262_143)).code).toBe('JSON_TOO_LARGE');
    expect(refused('x'.repeat(10_000_000)).code).toBe('JSON_TOO_LARGE');
    expect(refused(Array(1_000_000).fill(0)).code).toBe('JSON_TOO_LARGE');
  });

  test('stops early at shared parts that would grow without end', () => {
    let value: unknown = 'x';
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(refused(value).code).toBe('JSON_TOO_LARGE');
  });

  test('refuses everything when a limit is not a number', () => {
    expect(refused(1, { maxBytes: Number.NaN }).code).toBe('JSON_TOO_LARGE');
    expect(refused([], { maxDepth: Number.NaN }).code).toBe('JSON_TOO_DEEP');
  });

  test('law: the size is that of the canonical text in UTF-8, to the byte [CANON-9]', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const checked = checkJsonValue(value);
        fc.pre(checked.ok);
        const maxBytes = Buffer.byteLength(canonicalJson(checked.value));
        expect(checkJsonValue(value, { maxBytes }).ok).toBe(true);
        expect(refused(value, { maxBytes: maxBytes - 1 }).code).toBe('JSON_TOO_LARGE');
      }),
    );
  });
});
