import fc from 'fast-check';
import { canonicalJson, isJsonArray, isJsonObject, parseStrictJson } from '../../core/json';
import type { JsonValue } from '../../core/json';
import { anyJson } from '../support/json-text';

/** RFC 8785 appendix B: the IEEE 754 bits of a number, and its JSON text. */
const NUMBERS = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
] as const;

function double(bits: string): number {
  return Buffer.from(bits, 'hex').readDoubleBE();
}

/** The same value with the members of every object in another order. */
function reversed(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(reversed);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]));
}

describe('vectors of RFC 8785', () => {
  test('the sample of sections 3.2.2 to 3.2.4, to the byte', () => {
    const sample = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`) as JsonValue;
    expect(Buffer.from(canonicalJson(sample)).toString('hex')).toBe(
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e' +
        '333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c7530303066' +
        '5c6e4127425c225c5c5c5c5c222f227d',
    );
  });

  test('names in the order of their UTF-16 units (section 3.2.3)', () => {
    const sample = JSON.parse(String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`) as JsonValue;
    expect(canonicalJson(sample).match(/[A-Z][A-Za-z: ]+/g)).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  test.each(NUMBERS)('the number of bits %s is %s (appendix B)', (bits, text) => {
    expect(canonicalJson(double(bits))).toBe(text);
  });

  test.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('bits %s are no JSON number', (bits) => {
    expect(() => canonicalJson(double(bits))).toThrow(TypeError);
  });
});

describe('nothing is coerced or dropped [CANON-10]', () => {
  test.each([
    { name: 'undefined', value: undefined },
    { name: 'an undefined member', value: { a: undefined } },
    { name: 'a hole in an array', value: Array(1) },
    { name: 'a bigint', value: 1n },
    { name: 'a function', value: () => 1 },
    { name: 'a date', value: new Date(0) },
    { name: 'a map', value: { a: new Map() } },
    { name: 'a lone surrogate', value: '\ud800' },
    { name: 'a lone surrogate in a name', value: { '\udc00': 1 } },
  ])('$name throws', ({ value }) => {
    expect(() => canonicalJson(value as unknown as JsonValue)).toThrow(TypeError);
  });

  test('a string, a number, null and an absent member have four texts [CANON-11]', () => {
    const texts = [{ n: 5 }, { n: '5' }, { n: null }, {}].map((value) => canonicalJson(value));
    expect(texts).toEqual(['{"n":5}', '{"n":"5"}', '{"n":null}', '{}']);
  });

  test('a name of Object.prototype is written like any other [CANON-7]', () => {
    const parsed = parseStrictJson('{"toString":1,"constructor":{"prototype":{"x":1}}}');
    expect(parsed.ok && canonicalJson(parsed.value)).toBe('{"constructor":{"prototype":{"x":1}},"toString":1}');
  });
});

describe('laws', () => {
  test('equals the reference implementation', async () => {
    const { default: reference } = await import('canonicalize');
    fc.assert(
      fc.property(anyJson, (value) => {
        let expected: string | undefined;
        try {
          expected = reference(value);
        } catch {
          expect(() => canonicalJson(value as JsonValue)).toThrow(TypeError);
          return;
        }
        expect(canonicalJson(value as JsonValue)).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is a fixed point', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value as JsonValue);
        expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(text);
      }),
    );
  });

  test('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value as JsonValue))).toBe(canonicalJson(value as JsonValue));
      }),
    );
  });
});
