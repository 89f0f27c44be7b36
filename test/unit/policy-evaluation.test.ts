import type { Ask } from '../../core/evaluation';
import { evaluate } from '../../core/evaluate-policy';
import type { CallFacts } from '../../core/evaluation';
import { callFacts, edited, field, policyOf } from '../support/policy-fixture';

/** Three rules match `apply_migration`, in the loosest order of the file: for all, destructive, by name. */
const THREE_RULES = `people:
  dana: { groups: [dba] }
  eli: { groups: [leads] }
  fay: { groups: [audit] }
  amira: { groups: [platform] }
servers:
  orders-db:
    http: { url: 'http://127.0.0.1:4100/mcp' }
    tools:
      apply_migration:
        material:
          environment: { at: /environment, as: text }
          amount: { at: /amount, as: amount }
      read_rows: { destructive: false }
access:
  - { subjects: [group:platform], agents: ['*'], server: orders-db, tools: ['*'] }
rules:
  - id: everything
    server: orders-db
    scope: all
    approvers: { groups: [audit] }
    bind: tool
    validity: { minutes: 15 }
  - id: dangerous
    server: orders-db
    scope: destructive
    approvers: { groups: [leads] }
    bind: material
    validity: { uses: 3, minutes: 60 }
    selfApproval: true
  - id: named
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { groups: [dba] }
    bind: tool
    validity: once
    escalate: [{ after: 10m, to: { groups: [leads] } }]
    deadline: { after: 30m, then: expire }
`;

function askOf(text: string, facts: CallFacts, confirm = false): Ask | null {
  const verdict = evaluate(policyOf(text), facts, confirm);
  if (verdict.access === 'refused') throw new Error(verdict.detail);
  return verdict.ask;
}

const ids = (ask: Ask | null) => ask?.matched.map((rule) => rule.id);

describe('rules', () => {
  test('the named rule decides who is asked, the strictest validity and binding apply, all three are on record [TIME2-9] [WHO-11]', () => {
    const ask = askOf(THREE_RULES, callFacts());
    expect(ask).toEqual({
      rule: { id: 'named', version: expect.stringMatching(/^sha256:/) as string },
      matched: [
        { id: 'named', version: ask?.rule?.version, scope: 'tools' },
        { id: 'dangerous', version: expect.stringMatching(/^sha256:/) as string, scope: 'destructive' },
        { id: 'everything', version: expect.stringMatching(/^sha256:/) as string, scope: 'all' },
      ],
      steps: [{ kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: false }],
      bind: 'material',
      validity: { kind: 'once' },
      escalate: [{ afterMs: 600_000, to: { groups: ['leads'], people: [] } }],
      deadline: { afterMs: 1_800_000, then: 'expire', remindEveryMs: null },
      emergency: false,
    });
  });

  test('named with 60 minutes, destructive with once, for all with once: validity is once [WHO-11]', () => {
    const text = edited(
      THREE_RULES,
      ['validity: once', 'validity: { minutes: 60 }'],
      ['validity: { minutes: 15 }', 'validity: once'],
    );
    const ask = askOf(text, callFacts());
    expect(ask?.rule?.id).toBe('named');
    expect(ask?.validity).toEqual({ kind: 'once' });
    expect(ids(ask)).toEqual(['named', 'dangerous', 'everything']);
  });

  test('windows are combined component by component', () => {
    const text = edited(
      THREE_RULES,
      ['validity: once', 'validity: { uses: 5, total: { amount: 900 } }'],
      ['validity: { uses: 3, minutes: 60 }', 'validity: { uses: 3, minutes: 60, total: { amount: 500 } }'],
    );
    const asking = (amount: number) =>
      askOf(text, callFacts({ material: [field('amount', amount, 'amount')] }))?.validity;
    const window = { kind: 'window', uses: 3, durationMs: 900_000, total: { amount: 500 } };
    expect(asking(500)).toEqual(window);
    expect(asking(500.01)).toEqual({ kind: 'once' });
    expect(asking(-1)).toEqual({ kind: 'once' });
    expect(askOf(text, callFacts())?.validity).toEqual({ kind: 'once' });
  });

  test('destructive before all; selfApproval, escalation and deadline come from the deciding rule alone [WHO-04]', () => {
    const ask = askOf(THREE_RULES, callFacts({ tool: 'drop_table', material: [] }));
    expect(ask?.rule?.id).toBe('dangerous');
    expect(ask?.steps).toEqual([
      { kind: 'rule', approvers: { groups: ['leads'], people: [], quorum: 1 }, selfApproval: true },
    ]);
    expect(ask?.escalate).toEqual([]);
    expect(ask?.deadline).toEqual({ afterMs: 86_400_000, then: 'expire', remindEveryMs: null });
  });

  test('no other matching rule, and nobody’s role, exempts from a deciding rule without selfApproval [WHO-04]', () => {
    const ask = askOf(THREE_RULES, callFacts());
    expect(ask?.steps).toMatchObject([{ selfApproval: false }]);
  });

  test('among equals the first in the file decides', () => {
    const second = `${THREE_RULES}  - id: named-too
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { groups: [audit] }
`;
    const ask = askOf(second, callFacts());
    expect(ask?.rule?.id).toBe('named');
    expect(ids(ask)).toEqual(['named', 'named-too', 'dangerous', 'everything']);
    expect(ask?.bind).toBe('arguments');
  });

  test('no rule asks: no question', () => {
    const text = edited(THREE_RULES, ['scope: all', 'scope: destructive']);
    expect(askOf(text, callFacts({ tool: 'read_rows', material: [] }))).toBeNull();
  });

  test('a rule of another server does not match', () => {
    const text = edited(THREE_RULES, ['servers:\n', 'servers:\n  billing-db: { stdio: { command: node } }\n']).replace(
      'server: orders-db\n    scope: all',
      'server: billing-db\n    scope: all',
    );
    expect(ids(askOf(text, callFacts()))).toEqual(['named', 'dangerous']);
  });

  test('a tool without material under bind: material binds every argument, never nothing', () => {
    const facts = callFacts({ tool: 'drop_table', material: [] });
    expect(askOf(THREE_RULES, facts)?.bind).toBe('arguments');
    const onlyState = [{ ...field('rows', 7, 'number'), from: 'state' as const }];
    expect(askOf(THREE_RULES, { ...facts, material: onlyState })?.bind).toBe('arguments');
  });

  test('only where every matching rule binds the tool is nothing else bound', () => {
    const text = edited(THREE_RULES, ['bind: material', 'bind: tool']);
    expect(askOf(text, callFacts())?.bind).toBe('tool');
  });

  test.each([
    { name: 'matches on its value', material: [field('environment', 'production')], asks: true },
    { name: 'does not match on another', material: [field('environment', 'staging')], asks: false },
    { name: 'matches on a missing value', material: [], asks: true },
    {
      name: 'matches on a value of another kind',
      material: [{ ...field('environment', null), found: false }],
      asks: true,
    },
  ])('a condition $name', ({ material, asks }) => {
    const text = edited(THREE_RULES, [
      'scope: { tools: [apply_migration] }',
      'scope: { tools: [apply_migration] }\n    when: { environment: { is: production } }',
    ]);
    expect(ids(askOf(text, callFacts({ material })))?.includes('named')).toBe(asks);
  });

  test('an emergency rule asks about nothing, wherever it stands', () => {
    const rule = `  - id: break-glass
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { groups: [audit] }
    emergency: true
`;
    const first = edited(THREE_RULES, ['rules:\n', `rules:\n${rule}`]);
    const asked = askOf(THREE_RULES, callFacts());
    expect(ids(askOf(first, callFacts()))).toEqual(ids(asked));
    expect(askOf(`${THREE_RULES}${rule}`, callFacts())).toEqual(asked);
  });
});

describe('the runtime’s own question', () => {
  test('confirm: false leaves the gate closed: the rule asks all the same [NEST-08]', () => {
    expect(askOf(THREE_RULES, callFacts(), false)?.rule?.id).toBe('named');
  });

  test('confirm: true asks where no rule does: once, every argument, a day [NEST-08]', () => {
    const text = edited(THREE_RULES, ['scope: all', 'scope: destructive']);
    expect(askOf(text, callFacts({ tool: 'read_rows', material: [] }), true)).toEqual({
      rule: null,
      matched: [],
      steps: [{ kind: 'confirm', subject: 'user:amira' }],
      bind: 'arguments',
      validity: { kind: 'once' },
      escalate: [],
      deadline: { afterMs: 86_400_000, then: 'expire', remindEveryMs: null },
      emergency: false,
    });
  });

  test('with a rule the requester’s own human is asked first, then the approvers [NEST-08]', () => {
    expect(askOf(THREE_RULES, callFacts(), true)?.steps).toEqual([
      { kind: 'confirm', subject: 'user:amira' },
      { kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: false },
    ]);
  });
});

describe('tools that count as destructive', () => {
  const NONE = { readOnly: null, destructive: null };
  const READ_ONLY = { readOnly: true, destructive: null };
  const HARMLESS = { readOnly: false, destructive: false };
  const RISKY = { readOnly: false, destructive: true };

  test.each([
    { name: 'no hints', server: 'untrusted', operator: '{}', hints: NONE, asks: true },
    { name: 'no hints of a trusted server', server: 'trusted', operator: '{}', hints: NONE, asks: true },
    { name: 'readOnlyHint of an untrusted server', server: 'untrusted', operator: '{}', hints: READ_ONLY, asks: true },
    {
      name: 'destructiveHint false of an untrusted server',
      server: 'untrusted',
      operator: '{}',
      hints: HARMLESS,
      asks: true,
    },
    { name: 'readOnlyHint of a trusted server', server: 'trusted', operator: '{}', hints: READ_ONLY, asks: false },
    {
      name: 'destructiveHint false of a trusted server',
      server: 'trusted',
      operator: '{}',
      hints: HARMLESS,
      asks: false,
    },
    { name: 'destructiveHint true of a trusted server', server: 'trusted', operator: '{}', hints: RISKY, asks: true },
    { name: 'the operator’s yes', server: 'trusted', operator: '{ destructive: true }', hints: READ_ONLY, asks: true },
    { name: 'the operator’s no', server: 'untrusted', operator: '{ destructive: false }', hints: RISKY, asks: false },
  ])('$name: asks is $asks [WHO-07] [BYPASS-6]', ({ server, operator, hints, asks }) => {
    const text = edited(
      THREE_RULES,
      ['    tools:\n', `    hints: ${server}\n    tools:\n      wipe: ${operator}\n`],
      ['scope: all', 'scope: { tools: [apply_migration] }'],
    );
    expect(askOf(text, callFacts({ tool: 'wipe', hints, material: [] })) !== null).toBe(asks);
  });

  test('a tool that the policy does not list counts too [WHO-07]', () => {
    const facts = callFacts({ tool: 'constructor', material: [] });
    expect(ids(askOf(THREE_RULES, facts))).toEqual(['dangerous', 'everything']);
  });
});

describe('what a later release wrote', () => {
  test('a scope that is not known stops the evaluation: nothing is granted', () => {
    const policy = policyOf(THREE_RULES);
    const rules = policy.rules.map((rule) => ({ ...rule, scope: { kind: 'weekends' } as never }));
    expect(() => evaluate({ ...policy, rules }, callFacts(), false)).toThrow('No case for');
  });
});
