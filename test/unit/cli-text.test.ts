import { paintFor } from '../../cli/paint';
import {
  conditionsText,
  duration,
  gutter,
  jsonLine,
  relative,
  safe,
  safeBlock,
  table,
  validityText,
  when,
} from '../../cli/text';

describe('a duration', () => {
  test.each([
    [0, '0 s'],
    [45_000, '45 s'],
    [60_000, '1 min'],
    [1_799_000, '29 min 59 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [30 * 86_400_000, '30 d'],
  ])('of %i ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test('is said from now, in both directions', () => {
    expect(relative(61_000, 1_000)).toBe('in 1 min');
    expect(relative(1_000, 5_000)).toBe('4 s ago');
    expect(when(Date.UTC(2026, 10, 30, 9, 5, 7))).toBe('2026-11-30 09:05:07 UTC');
  });
});

describe('text from outside', () => {
  test('on one line is one line', () => {
    expect(safe('a\nb\u001b[31m\u202e')).toBe('a⟦U+000A⟧b⟦U+001B⟧[31m⟦U+202E⟧');
  });

  test('of several lines cannot leave its rule', () => {
    expect(gutter(safeBlock('a\nholdpoint: allowed\u0007'), '')).toBe('│ a\n│ holdpoint: allowed⟦U+0007⟧');
  });

  test('in JSON for programs is ASCII that means the same', () => {
    const value = { text: 'ü\u202e😀\u001b' };
    expect(jsonLine(value)).toBe('{"text":"\\u00fc\\u202e\\ud83d\\ude00\\u001b"}');
    expect(JSON.parse(jsonLine(value))).toEqual(value);
  });
});

describe('what an allow permits', () => {
  test.each([
    [{ kind: 'once' }, 'arguments', 'this one operation, once'],
    [
      { kind: 'window', uses: null, durationMs: 900_000, total: {} },
      'arguments',
      'any number of uses within 15 min of calls with exactly these arguments',
    ],
    [
      { kind: 'window', uses: 3, durationMs: 3_600_000, total: { amount: 500 } },
      'material',
      'up to 3 uses within 1 h, amount up to 500 in all of calls with the same material fields, whatever their other arguments',
    ],
    [
      { kind: 'window', uses: 1, durationMs: null, total: {} },
      'tool',
      'up to 1 use of any call of this tool by this requester, whatever its arguments',
    ],
  ] as const)('%j of %s is said as %s', (validity, bind, text) => {
    expect(validityText(validity, bind)).toBe(text);
  });

  test('conditions are said in the order of the policy', () => {
    const conditions = {
      environment: { op: 'oneOf', values: ['staging', 'production'] },
      amount: { op: 'above', value: 100 },
    } as const;
    expect(conditionsText(conditions)).toBe('environment oneOf staging | production, amount above 100');
  });
});

test('a table is as wide as its cells, and ends no line with blanks', () => {
  expect(
    table(
      ['id', 'what'],
      [
        ['1', 'ä'],
        ['22', ''],
      ],
    ),
  ).toBe('ID  WHAT\n1   ä\n22');
});

test('without colour a word is only the word', () => {
  expect(paintFor({ color: false }).red('no')).toBe('no');
  expect(paintFor({ color: true }).red('no')).toBe('\u001b[31mno\u001b[39m');
});
