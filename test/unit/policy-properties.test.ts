import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { evaluate } from '../../core/evaluate-policy';
import type { Ask } from '../../core/evaluation';
import { parsePolicyFile } from '../../core/policy-file';
import type { Policy, Rule, Validity } from '../../core/policy';
import { ORDERS_POLICY, callFacts, field, policyOf } from '../support/policy-fixture';

const BASE = policyOf(ORDERS_POLICY);

const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null });

const validity: fc.Arbitrary<Validity> = fc.oneof(
  fc.constant<Validity>({ kind: 'once' }),
  fc.record({
    kind: fc.constant('window' as const),
    uses: limit(9),
    durationMs: limit(90_000),
    total: fc.dictionary(fc.constantFrom('amount', 'rows'), fc.integer({ min: 1, max: 9 }), { noNullPrototype: true }),
  }),
);

const rule: fc.Arbitrary<Rule> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  version: fc.constant('sha256:0'),
  server: fc.constantFrom('orders-db', 'billing-db'),
  scope: fc.constantFrom<Rule['scope']>(
    { kind: 'all' },
    { kind: 'destructive' },
    { kind: 'tools', tools: ['apply_migration'] },
    { kind: 'tools', tools: ['other'] },
  ),
  when: fc.constantFrom<Rule['when']>(
    {},
    { environment: { op: 'is', value: 'production' } },
    { environment: { op: 'is', value: 'staging' } },
    { amount: { op: 'above', value: 5 } },
  ),
  approvers: fc.constantFrom({ groups: ['dba'], people: [], quorum: 1 }, { groups: [], people: ['eli'], quorum: 2 }),
  selfApproval: fc.boolean(),
  bind: fc.constantFrom('arguments', 'material', 'tool'),
  validity,
  escalate: fc.constant([]),
  deadline: fc.constant({ afterMs: 1_000, then: 'expire', remindEveryMs: null }),
  emergency: fc.constantFrom<Rule['emergency']>(false, { reviewWithinMs: 1_000 }),
});

const facts = fc
  .record({
    environment: fc.constantFrom('production', 'staging', null),
    amount: fc.constantFrom(1, 9, null),
    tool: fc.constantFrom('apply_migration', 'other'),
  })
  .map(({ environment, amount, tool }) => {
    const given = [field('environment', environment), field('amount', amount, 'amount')];
    return callFacts({ tool, material: given.map((one) => ({ ...one, found: one.value !== null })) });
  });

const withRules = (rules: readonly Rule[]): Policy => ({ ...BASE, rules });

function askOf(policy: Policy, call: ReturnType<typeof callFacts>, confirm = false): Ask | null {
  const verdict = evaluate(policy, call, confirm);
  return verdict.access === 'granted' ? verdict.ask : null;
}

const BINDS = ['arguments', 'material', 'tool'];

function atLeastAsStrict(a: Validity, b: Validity): boolean {
  if (a.kind === 'once') return true;
  if (b.kind === 'once') return false;
  const within = (mine: number | null | undefined, theirs: number | null) =>
    theirs === null || (typeof mine === 'number' && mine <= theirs);
  const totals = Object.entries(b.total).every(([name, most]) => within(a.total[name], most));
  return within(a.uses, b.uses) && within(a.durationMs, b.durationMs) && totals;
}

describe('evaluation', () => {
  test('one more rule never removes a question, and never loosens what an allow permits', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), rule, fc.nat(5), facts, (rules, extra, at, call) => {
        const before = askOf(withRules(rules), call);
        const after = askOf(withRules(rules.toSpliced(at, 0, extra)), call);
        if (before === null) return;
        expect(after).not.toBeNull();
        expect(BINDS.indexOf(after!.bind)).toBeLessThanOrEqual(BINDS.indexOf(before.bind));
        expect(atLeastAsStrict(after!.validity, before.validity)).toBe(true);
        expect(after!.matched.length).toBeGreaterThanOrEqual(before.matched.length);
      }),
    );
  });

  test('what an allow permits is at least as strict as each matching rule alone', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), facts, (rules, call) => {
        const ask = askOf(withRules(rules), call);
        for (const one of rules) {
          const alone = askOf(withRules([one]), call);
          if (alone === null) continue;
          expect(atLeastAsStrict(ask!.validity, alone.validity)).toBe(true);
          expect(BINDS.indexOf(ask!.bind)).toBeLessThanOrEqual(BINDS.indexOf(alone.bind));
        }
      }),
    );
  });

  test('confirm never removes a question, and changes nothing of what the rules ask [NEST-08]', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), facts, (rules, call) => {
        const without = askOf(withRules(rules), call);
        const asked = askOf(withRules(rules), call, true);
        expect(asked?.steps[0]).toEqual({ kind: 'confirm', subject: 'user:amira' });
        if (without !== null) expect(asked).toEqual({ ...without, steps: [asked!.steps[0], ...without.steps] });
      }),
    );
  });
});

/** The same data with the keys of every mapping in another order. */
function reordered(value: unknown, keys: (names: string[]) => string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, keys));
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  return Object.fromEntries(keys(Object.keys(members)).map((key) => [key, reordered(members[key], keys)]));
}

describe('reading', () => {
  test('comments, the order of keys and the way of writing change no rule version [WHO-14]', () => {
    const data: unknown = parse(ORDERS_POLICY);
    const comment = fc.string({ unit: fc.constantFrom('a', ' ', ':', '#', '-', '{', 'é') });
    fc.assert(
      fc.property(fc.nat(), fc.array(comment), fc.boolean(), (seed, comments, flow) => {
        let state = seed;
        const shuffle = (names: string[]) =>
          names
            .map((name) => ({ name, rank: (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ name }) => name);
        const text = stringify(reordered(data, shuffle), { collectionStyle: flow ? 'flow' : 'block', lineWidth: 0 });
        const lines = text.split('\n').flatMap((line, index) => {
          const said = comments[index % Math.max(1, comments.length)];
          return said === undefined || index % 3 > 0 ? [line] : [`# ${said}`, line];
        });
        expect(policyOf(lines.join('\n')).rules).toEqual(BASE.rules);
      }),
      { numRuns: 30 },
    );
  });

  test('any text is read or refused with places inside it, and never throws', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(
        '[',
        '{',
        '}',
        ':',
        '\n',
        '- ',
        '? ',
        '&a',
        '*a',
        '!!map',
        '<<: ',
        '"',
        '|',
        '%YAML 1.1',
        '---\n',
        '0x',
        '.nan',
      ),
    );
    fc.assert(
      fc.property(fc.nat(ORDERS_POLICY.length), fc.nat(40), piece, (at, drop, insert) => {
        const text = ORDERS_POLICY.slice(0, at) + insert + ORDERS_POLICY.slice(at + drop);
        const parsed = parsePolicyFile(text, 'policy.yaml');
        if (parsed.ok) return;
        expect(parsed.problems.length).toBeGreaterThan(0);
        const lines = text.split('\n');
        for (const { line, column } of parsed.problems) {
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? -1) + 1);
        }
      }),
      { numRuns: 150 },
    );
  });
});
