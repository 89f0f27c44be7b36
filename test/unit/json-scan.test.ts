import fc from 'fast-check';
import { canonicalJson, checkJsonValue, parseStrictJson } from '../../core/json';
import type { JsonRefusal, JsonValue } from '../../core/json';
import { almostJson, anyJson } from '../support/json-text';

function refused(text: string, limits = {}): JsonRefusal {
  const result = parseStrictJson(text, limits);
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`);
  return result;
}

function accepted(text: string, limits = {}): JsonValue {
  const result = parseStrictJson(text, limits);
  if (!result.ok) throw new Error(result.detail);
  return result.value;
}

describe('names', () => {
  test.each([
    { id: 'CANON-1', text: '{"amount":1,"amount":1000}', offset: 12, at: '/amount' },
    { id: 'CANON-2', text: '{"a":1,"\\u0061":2}', offset: 7, at: '/a' },
    { id: 'CANON-2', text: '{"x":{"k":1,"k":1}}', offset: 12, at: '/x/k' },
    { id: 'CANON-2', text: '[0,{"a/b~":[{"":1,"":1}]}]', offset: 18, at: '/1/a~1b~0/0/' },
    { id: 'CANON-2', text: '{"constructor":1,"constructor":2}', offset: 17, at: '/constructor' },
  ])('refuses $text, a name twice [$id]', ({ text, offset, at }) => {
    expect(refused(text)).toEqual({
      ok: false,
      code: 'JSON_DUPLICATE_NAME',
      detail: `A name occurs twice in one object; send it once (at ${at})`,
      offset,
    });
  });

  test('takes one name in two objects, and two names that differ by case or normal form [CANON-2]', () => {
    expect(accepted('[{"k":1},{"k":1}]')).toStrictEqual([{ k: 1 }, { k: 1 }]);
    expect(Object.keys(accepted('{"a":1,"A":2,"\\u00e9":3,"e\\u0301":4}') as object)).toEqual([
      'a',
      'A',
      'é',
      'e\u0301',
    ]);
  });

  test.each(['{"__proto__":{"approved":true}}', '{"a":[{"\\u005f_proto__":null}]}'])('refuses %s [CANON-7]', (text) => {
    expect(refused(text).code).toBe('JSON_FORBIDDEN_NAME');
    expect(({} as Record<string, unknown>)['approved']).toBeUndefined();
  });

  test('keeps constructor, toString and prototype as plain data under these very names [CANON-7]', () => {
    const value = accepted('{"constructor":{"prototype":{"x":1}},"toString":2}') as Record<string, unknown>;
    expect(Object.entries(value)).toEqual([
      ['constructor', { prototype: { x: 1 } }],
      ['toString', 2],
    ]);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expect({}.constructor).toBe(Object);
  });

  test('keeps a name that the prototype does not let be assigned, as in the workflow sandbox [CANON-7]', () => {
    Object.defineProperty(Object.prototype, 'frozenName', { value: 0, writable: false, configurable: true });
    try {
      expect(Object.entries(accepted('{"frozenName":1}') as object)).toEqual([['frozenName', 1]]);
    } finally {
      delete (Object.prototype as Record<string, unknown>)['frozenName'];
    }
  });

  test('shows hidden characters of a name in the message as escapes, and cuts a very long place', () => {
    expect(refused('{"a\u202eb":"\\ud800"}').detail).toBe(
      'A text holds half a surrogate pair; send whole characters (at /a⟦U+202E⟧b)',
    );
    expect(refused(`{"${'n'.repeat(500)}":1e400}`).detail).toContain(`(at /${'n'.repeat(199)}…)`);
  });
});

describe('numbers', () => {
  test.each([
    '9007199254740993',
    '-9007199254740992',
    '9007199254740993.0',
    '9.007199254740993e15',
    '1e400',
    '-1e400',
    '1e21',
  ])('refuses %s and says to send a string [CANON-4]', (number) => {
    expect(refused(`{"n":${number}}`)).toEqual({
      ok: false,
      code: 'JSON_UNSAFE_NUMBER',
      detail: 'A number beyond ±9007199254740991 is not kept exactly by every reader; send it as a string (at /n)',
      offset: 5,
    });
  });

  test.each(['NaN', 'Infinity', '-Infinity', '+1', '01', '1.', '.5', '0x10', '1e', '-', '1_000'])(
    'refuses %s, which is not JSON [CANON-4]',
    (text) => {
      expect(refused(text).code).toBe('JSON_SYNTAX');
    },
  );

  test('refuses a number that would be read as zero though it is none', () => {
    expect(refused('[1e-400]').detail).toBe('A number so small is read as 0; send it as a string (at /0)');
    expect(refused('[-0.00001e-400]').code).toBe('JSON_UNSAFE_NUMBER');
  });

  test.each([
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['0.1', 0.1],
    ['0.1000000000000000055511151231257827', 0.1],
    ['333333333.33333329', 333333333.3333333],
    ['5e-324', 5e-324],
    ['1e2', 100],
    ['100.0', 100],
    ['-0', -0],
    ['0e5', 0],
    ['0.000', 0],
    ['0e-9', 0],
  ])('takes %s as the nearest IEEE double', (text, value) => {
    expect(accepted(text)).toBe(value);
  });
});

describe('texts', () => {
  test.each(['"\\ud800"', '{"\\udc00":1}', '"\\udc00\\ud800"', '"\ud800"', '["a\\ud83dz"]', '{"\udc00":1}'])(
    'refuses half a surrogate pair in %j [CANON-5]',
    (text) => {
      expect(refused(text).code).toBe('JSON_LONE_SURROGATE');
    },
  );

  test('takes a pair however it is written [CANON-5]', () => {
    expect(accepted('["\\ud83d\\ude00","\ud83d\ude00","\\ud83d\ude00","\ud83d\\uDE00"]')).toEqual([
      '😀',
      '😀',
      '😀',
      '😀',
    ]);
  });

  test.each(['"x\\u0000y"', '{"\\u0000":1}', '"x\0y"'])('refuses U+0000 in %j [CANON-12]', (text) => {
    expect(refused(text).code).toBe('JSON_NUL');
  });

  test('reads every escape, and keeps the bytes of both normal forms apart [CANON-6]', () => {
    expect(accepted('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC"')).toBe('"\\/\b\f\n\r\té€');
    expect(accepted('["caf\\u00e9","cafe\\u0301"]')).toEqual(['caf\u00e9', 'cafe\u0301']);
  });
});

describe('syntax', () => {
  test.each([
    ['', 0, 'A value must stand here'],
    [' \t\r\n', 4, 'A value must stand here'],
    ['nope', 0, 'A value must stand here'],
    ['nul', 0, 'A value must stand here'],
    ['\ufeff1', 0, 'A value must stand here'],
    ['[1,]', 3, 'A value must stand here'],
    ['[1 2]', 3, '"]" must stand here'],
    ['[1', 2, '"]" must stand here'],
    ['{"a":1,}', 7, 'A name in double quotes must stand here'],
    ['{a:1}', 1, 'A name in double quotes must stand here'],
    ['{"a" 1}', 5, '":" must stand here'],
    ['{"a":1', 6, '"}" must stand here'],
    ['{"id":1,', 8, 'A name in double quotes must stand here'],
    ['"abc', 4, 'The text ends inside a string'],
    ['"abc\\', 4, 'An escape that JSON does not have'],
    ['"\\x41"', 1, 'An escape that JSON does not have'],
    ['"\\u12g4"', 1, 'An escape that JSON does not have'],
    ['"a\nb"', 2, 'A control character in a string must be escaped'],
    ['1 2', 2, 'Text follows the end of the value'],
    ['{} // note', 3, 'Text follows the end of the value'],
    ["'a'", 0, 'A value must stand here'],
    ['\u00a01', 0, 'A value must stand here'],
  ])('refuses %j at %d', (text, offset, rule) => {
    const refusal = refused(text);
    expect(refusal).toMatchObject({ code: 'JSON_SYNTAX', offset });
    expect(refusal.detail).toContain(`${rule} (at `);
  });

  test('takes blanks wherever JSON has them', () => {
    expect(accepted(' {\t"a" :\r\n[ ] , "b" : { } , "c":[ true , false,null ] }\n')).toStrictEqual({
      a: [],
      b: {},
      c: [true, false, null],
    });
  });
});

describe('limits', () => {
  test('takes 64 containers inside each other, not 65 [CANON-8]', () => {
    expect(parseStrictJson('['.repeat(64) + ']'.repeat(64)).ok).toBe(true);
    expect(refused('['.repeat(65) + ']'.repeat(65))).toMatchObject({ code: 'JSON_TOO_DEEP', offset: 64 });
    expect(refused('{"a":'.repeat(65) + '1' + '}'.repeat(65)).code).toBe('JSON_TOO_DEEP');
  });

  test('counts containers inside each other, not beside each other [CANON-8]', () => {
    expect(parseStrictJson(`[${Array(1000).fill('[{}]').join(',')}]`, { maxDepth: 3 }).ok).toBe(true);
    expect(refused('[[{}]]', { maxDepth: 2 }).code).toBe('JSON_TOO_DEEP');
  });

  test('refuses 5 000 nested arrays, even where the caller asks for more depth [CANON-8]', () => {
    expect(refused('['.repeat(5_000)).code).toBe('JSON_TOO_DEEP');
    expect(refused('['.repeat(250_000), { maxDepth: 1_000_000 })).toMatchObject({ code: 'JSON_TOO_DEEP', offset: 512 });
    expect(accepted('[1]')).toEqual([1]);
  });

  test('takes exactly 262144 bytes, not one more [CANON-9]', () => {
    expect(parseStrictJson(`"${'x'.repeat(262_142)}"`).ok).toBe(true);
    expect(refused(`"${'x'.repeat(262_143)}"`)).toEqual({
      ok: false,
      code: 'JSON_TOO_LARGE',
      detail: 'More than 262144 bytes of JSON; send less (at the top)',
      offset: 0,
    });
  });

  test('counts bytes of UTF-8, blanks among them, not characters [CANON-9]', () => {
    expect(parseStrictJson('"€€"', { maxBytes: 8 }).ok).toBe(true);
    expect(refused('"€€"', { maxBytes: 7 }).code).toBe('JSON_TOO_LARGE');
    expect(refused('1 ', { maxBytes: 1 }).code).toBe('JSON_TOO_LARGE');
    expect(refused('"😀"', { maxBytes: 5 }).code).toBe('JSON_TOO_LARGE');
  });

  test('refuses everything when a limit is not a number', () => {
    expect(refused('1', { maxBytes: Number.NaN }).code).toBe('JSON_TOO_LARGE');
    expect(refused('[]', { maxDepth: Number.NaN }).code).toBe('JSON_TOO_DEEP');
  });
});

describe('laws', () => {
  test('what is accepted is what JSON.parse reads', () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        const result = parseStrictJson(text);
        if (result.ok) expect(result.value).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('what JSON.parse reads is accepted, or refused by a rule that the value itself or its raw text breaks', () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          expect(parseStrictJson(text).ok).toBe(false);
          return;
        }
        const strict = parseStrictJson(text);
        const checked = checkJsonValue(parsed);
        if (strict.ok) expect(checked.ok).toBe(true);
        else if (checked.ok) expect(['JSON_DUPLICATE_NAME', 'JSON_UNSAFE_NUMBER']).toContain(strict.code);
      }),
      { numRuns: 2_000 },
    );
  });

  test('an object is accepted exactly when its names differ after unescaping', () => {
    const name = fc.stringMatching(/^[ab]{0,2}$/);
    const spell = (plain: string, escape: boolean): string =>
      escape ? Array.from(plain, (char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('') : plain;
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.boolean())), (names) => {
        const text = `[{"o":{${names.map(([plain, escape]) => `"${spell(plain, escape)}":0`).join()}}}]`;
        expect(parseStrictJson(text).ok).toBe(new Set(names.map(([plain]) => plain)).size === names.length);
      }),
    );
  });

  test('canonical text is accepted and read back as the same value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const checked = checkJsonValue(value);
        fc.pre(checked.ok);
        const text = canonicalJson(checked.value);
        expect(canonicalJson(accepted(text))).toBe(text);
      }),
    );
  });
});
