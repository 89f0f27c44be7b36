import { readMaterial } from '../../core/evaluate-policy';
import type { JsonValue } from '../../core/json';
import { amountOf } from '../../core/material';
import type { Condition, MaterialKind } from '../../core/policy';
import { conditionsHold } from '../../core/policy-conditions';
import { edited, field, policyOf } from '../support/policy-fixture';

const POLICY = `servers:
  db:
    stdio: { command: node }
    tools:
      wipe:
        state: { tool: stats }
        material:
          value: { at: /deep/0/value, as: text }
          rows: { at: /rows, as: number, from: state }
access: []
rules: []
`;

const entryAs = (kind: MaterialKind) =>
  policyOf(edited(POLICY, ['as: text', `as: ${kind}`])).servers['db']?.tools['wipe'];

describe('material fields', () => {
  test('are read from the arguments and from the state, raw, in the order of the policy', () => {
    expect(readMaterial(entryAs('text'), { deep: [{ value: 'x' }], rows: 1 }, { rows: 7 })).toEqual([
      { name: 'value', as: 'text', from: 'arguments', at: '/deep/0/value', found: true, value: 'x' },
      { name: 'rows', as: 'number', from: 'state', at: '/rows', found: true, value: 7 },
    ]);
  });

  test('are not found where the arguments or the state do not have them', () => {
    expect(readMaterial(entryAs('text'), { deep: [] }, null)).toEqual([
      { name: 'value', as: 'text', from: 'arguments', at: '/deep/0/value', found: false, value: null },
      { name: 'rows', as: 'number', from: 'state', at: '/rows', found: false, value: null },
    ]);
  });

  test('a tool without an entry has none', () => {
    expect(readMaterial(undefined, { deep: [{ value: 'x' }] }, null)).toEqual([]);
  });

  test.each<[MaterialKind, JsonValue, boolean]>([
    ['text', 'x', true],
    ['text', '', true],
    ['text', 5, false],
    ['text', null, false],
    ['sql', 'DROP TABLE x', true],
    ['sql', ['DROP TABLE x'], false],
    ['number', 0, true],
    ['number', '5', false],
    ['boolean', false, true],
    ['boolean', 'true', false],
    ['amount', 12.5, true],
    ['amount', '12.50', true],
    ['amount', '1e3', false],
    ['amount', '', false],
    ['amount', '99999999999999999', false],
    ['amount', null, false],
    ['timestamp', '2026-11-30', true],
    ['timestamp', '2026-11-30T12:00:00Z', true],
    ['timestamp', '2026-11-30 12:00:00.5+02:00', true],
    ['timestamp', '2026-13-30', false],
    ['timestamp', 'tomorrow', false],
    ['timestamp', 1_764_460_800_000, false],
    ['json', { any: ['thing'] }, true],
    ['json', null, true],
  ])('as %s, %j is found: %s', (kind, value, found) => {
    const [first] = readMaterial(entryAs(kind), { deep: [{ value }] }, null);
    expect(first).toMatchObject({ found, value: found ? value : null });
  });

  test.each<[JsonValue, number | null]>([
    [5, 5],
    ['500.00', 500],
    ['-0.01', -0.01],
    ['+5', null],
    ['0x10', null],
    [' 5', null],
    [true, null],
    [[5], null],
  ])('the amount of %j is %s', (value, amount) => {
    expect(amountOf(value)).toBe(amount);
  });
});

describe('conditions', () => {
  const holds = (condition: Condition, value: JsonValue, kind: MaterialKind = 'json') =>
    conditionsHold({ value: condition }, [field('value', value, kind)]);

  test.each<[Condition, JsonValue, string]>([
    [{ op: 'is', value: 'a' }, 'a', 'yes'],
    [{ op: 'is', value: 'a' }, 'A', 'no'],
    [{ op: 'is', value: 5 }, '5', 'no'],
    [{ op: 'is', value: true }, ['a'], 'no'],
    [{ op: 'isNot', value: 'a' }, 'b', 'yes'],
    [{ op: 'isNot', value: 'a' }, 'a', 'no'],
    [{ op: 'isNot', value: 'a' }, null, 'yes'],
    [{ op: 'oneOf', values: ['a', 1] }, 1, 'yes'],
    [{ op: 'oneOf', values: ['a', 1] }, '1', 'no'],
    [{ op: 'noneOf', values: ['a', 1] }, 'b', 'yes'],
    [{ op: 'noneOf', values: ['a', 1] }, 'a', 'no'],
    [{ op: 'atLeast', value: 5 }, 5, 'yes'],
    [{ op: 'atLeast', value: 5 }, 4.9, 'no'],
    [{ op: 'atMost', value: 5 }, 5, 'yes'],
    [{ op: 'atMost', value: 5 }, 5.1, 'no'],
    [{ op: 'above', value: 5 }, 5.1, 'yes'],
    [{ op: 'above', value: 5 }, 5, 'no'],
    [{ op: 'below', value: 5 }, 4.9, 'yes'],
    [{ op: 'below', value: 5 }, 5, 'no'],
    [{ op: 'below', value: 5 }, '4', 'unknown'],
    [{ op: 'above', value: 5 }, null, 'unknown'],
  ])('%j on %j: %s', (condition, value, expected) => {
    expect(holds(condition, value)).toBe(expected);
  });

  test('an amount in text is compared as a number', () => {
    expect(holds({ op: 'above', value: 500 }, '500.01', 'amount')).toBe('yes');
    expect(holds({ op: 'is', value: 500 }, '500.00', 'amount')).toBe('yes');
    expect(holds({ op: 'noneOf', values: [500] }, '500.00', 'amount')).toBe('no');
  });

  test('a missing field is unknown, a field that certainly fails decides, no condition holds', () => {
    const is = (value: string): Condition => ({ op: 'is', value });
    const missing = { ...field('a', null), found: false };
    expect(conditionsHold({ a: is('x') }, [])).toBe('unknown');
    expect(conditionsHold({ a: is('x') }, [missing])).toBe('unknown');
    expect(conditionsHold({ a: is('x'), b: is('y') }, [missing, field('b', 'y')])).toBe('unknown');
    expect(conditionsHold({ a: is('x'), b: is('y') }, [missing, field('b', 'z')])).toBe('no');
    expect(conditionsHold({}, [])).toBe('yes');
  });
});

describe('what a later release wrote', () => {
  test('a kind of field that is not known stops the evaluation', () => {
    const entry = {
      ...entryAs('text')!,
      material: [{ name: 'x', from: 'arguments', at: '/x', as: 'colour' as never }] as const,
    };
    expect(() => readMaterial(entry, { x: 1 }, null)).toThrow('No case for');
  });

  test('an operator that is not known stops the evaluation', () => {
    expect(() => conditionsHold({ a: { op: 'matches' } as never }, [field('a', 1)])).toThrow('No case for');
  });
});
