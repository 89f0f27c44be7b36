import type { Ask } from '../../core/evaluation';
import { addToTotals, couldStillCover, extentOf, sameRules, termsStillCover, widens } from '../../core/grant';
import type { Policy, Rule, Validity } from '../../core/policy';

const MINUTE = 60_000;
const window = (uses: number | null, durationMs: number | null, total: Record<string, number> = {}): Validity => ({
  kind: 'window',
  uses,
  durationMs,
  total,
});
const ask: Ask = {
  rule: { id: 'r', version: 'v1' },
  matched: [{ id: 'r', version: 'v1', scope: 'tools' }],
  steps: [],
  bind: 'material',
  validity: { kind: 'once' },
  escalate: [],
  deadline: { afterMs: MINUTE, then: 'expire', remindEveryMs: null },
  emergency: false,
};

const once = { validity: { kind: 'once' }, emergency: false } as const;

test('once is one use of one operation and ends after a day', () => {
  expect(extentOf(once, null, 1_000)).toEqual({ once: true, maxUses: 1, expiresAtMs: 86_401_000 });
});

test('a window of 15 minutes ends 15 minutes after the allow [BIND-08]', () => {
  expect(extentOf({ validity: window(null, 15 * MINUTE), emergency: false }, null, 0).expiresAtMs).toBe(900_000);
});

test('a reviewer can shorten a window', () => {
  expect(extentOf({ validity: window(3, 60 * MINUTE), emergency: false }, 5, 0)).toEqual({
    once: false,
    maxUses: 3,
    expiresAtMs: 300_000,
  });
});

test.each([
  ['minutes where the rule says once [SWAP-10]', { kind: 'once' } as Validity, 60, true],
  ['more minutes than the rule gives', window(null, 15 * MINUTE), 16, true],
  ['fewer minutes', window(null, 15 * MINUTE), 15, false],
  ['no minutes', { kind: 'once' } as Validity, null, false],
  ['minutes where the rule sets no time', window(3, null), 60, false],
])('whether a decision widens: %s', (_name, validity, minutes, expected) => {
  expect(widens(validity, minutes)).toBe(expected);
});

test('rules are the same only with the same ids and versions, deciding and matched', () => {
  expect(sameRules(ask, { ...ask })).toBe(true);
  expect(sameRules(ask, { ...ask, rule: { id: 'r', version: 'v2' } })).toBe(false);
  expect(sameRules(ask, { ...ask, matched: [] })).toBe(false);
});

test.each([
  ['once under once', { kind: 'once' } as Validity, { kind: 'once' } as Validity, true],
  ['once under a window', { kind: 'once' } as Validity, window(3, MINUTE), true],
  ['a window under once', window(3, MINUTE), { kind: 'once' } as Validity, false],
  ['fewer uses', window(2, MINUTE), window(3, MINUTE), true],
  ['more uses', window(4, MINUTE), window(3, MINUTE), false],
  ['unlimited uses under a limit', window(null, MINUTE), window(3, MINUTE), false],
  ['a longer time', window(3, 2 * MINUTE), window(3, MINUTE), false],
  ['a missing total', window(3, MINUTE), window(3, MINUTE, { amount: 500 }), false],
  ['a smaller total', window(3, MINUTE, { amount: 100 }), window(3, MINUTE, { amount: 500 }), true],
])('what was granted covers a changed rule: %s', (_name, granted, now, expected) => {
  expect(termsStillCover({ ...ask, validity: granted }, { ...ask, validity: now })).toBe(expected);
});

test('a binding looser than the rule now asks does not cover', () => {
  expect(termsStillCover({ ...ask, bind: 'tool' }, { ...ask, bind: 'material' })).toBe(false);
  expect(termsStillCover({ ...ask, bind: 'arguments' }, { ...ask, bind: 'material' })).toBe(true);
});

describe('totals', () => {
  const validity = window(null, MINUTE, { amount: 500 });
  test.each([
    ['within the total', {}, { amount: 500 }, { amount: 500 }],
    ['crossed by a cent', { amount: 400 }, { amount: 100.01 }, null],
    ['added up', { amount: 100 }, { amount: 50 }, { amount: 150 }],
    ['a missing amount', {}, {}, null],
    ['a negative amount', { amount: 400 }, { amount: -100 }, null],
  ])('%s', (_name, used, amounts, expected) => {
    expect(addToTotals(validity, used as Record<string, number>, amounts as Record<string, number>)).toEqual(expected);
  });

  test('once has no totals', () => {
    expect(addToTotals({ kind: 'once' }, {}, {})).toEqual({});
  });
});

test.each([
  ['one use', { kind: 'once' } as const, { once: true, maxUses: 1, expiresAtMs: 15 * MINUTE }],
  ['a use in an hour', window(1, 60 * MINUTE), { once: false, maxUses: 1, expiresAtMs: 15 * MINUTE }],
  ['ten minutes', window(null, 10 * MINUTE), { once: false, maxUses: 2 ** 31 - 1, expiresAtMs: 10 * MINUTE }],
])('an emergency ends after 15 minutes, whatever its rule gives: %s', (_name, validity, extent) => {
  expect(extentOf({ validity, emergency: true }, null, 0)).toEqual(extent);
});

test('a window without a time ends with the longest that Holdpoint waits, 30 days', () => {
  expect(extentOf({ validity: window(3, null), emergency: false }, null, 0)).toEqual({
    once: false,
    maxUses: 3,
    expiresAtMs: 2_592_000_000,
  });
});

test('what no rule asks about but a runtime does has the same rules as itself, and not those of a rule', () => {
  const confirmed = { ...ask, rule: null, matched: [] };
  expect(sameRules(confirmed, { ...confirmed })).toBe(true);
  expect(sameRules(confirmed, ask)).toBe(false);
});

describe('a grant for orders-db / wipe, bound to the material, once', () => {
  const rule = {
    id: 'r2',
    version: 'v2',
    server: 'orders-db',
    scope: { kind: 'all' },
    bind: 'material',
    validity: { kind: 'once' },
  };
  const policyWith = (rules: readonly object[], servers = ['orders-db']): Policy => ({
    v: 1,
    trust: 'namespace',
    people: {},
    servers: Object.fromEntries(servers.map((name) => [name, { name, tools: {} } as never])),
    access: [],
    rules: rules as readonly Rule[],
  });

  test.each([
    ['its own rule, in the same version', policyWith([{ ...rule, version: 'v1', bind: 'arguments' }]), true],
    ['another rule that asks for no more', policyWith([rule]), true],
    ['a rule that binds more strictly', policyWith([{ ...rule, bind: 'arguments' }]), false],
    ['a rule that names the tool', policyWith([{ ...rule, scope: { kind: 'tools', tools: ['wipe'] } }]), true],
    ['a rule that names other tools', policyWith([{ ...rule, scope: { kind: 'tools', tools: ['read'] } }]), false],
    ['a rule that may hold by an annotation', policyWith([{ ...rule, scope: { kind: 'destructive' } }]), true],
    ['a rule of another server', policyWith([{ ...rule, server: 'bank' }], ['orders-db', 'bank']), false],
    ['no rule', policyWith([]), false],
    ['no such server', policyWith([rule], ['bank']), false],
  ] as const)('under a policy with %s', (_name, policy, covers) => {
    expect(couldStillCover(policy, { server: 'orders-db', tool: 'wipe', ask })).toBe(covers);
  });

  test('that only the runtime asked for needs no rule', () => {
    const spot = { server: 'orders-db', tool: 'wipe', ask: { ...ask, rule: null, matched: [] } };
    expect(couldStillCover(policyWith([]), spot)).toBe(true);
  });
});
