import { ORDERS_POLICY, edited, policyOf } from '../support/policy-fixture';
import type { Policy, Rule, ServerEntry, ToolEntry } from '../../core/policy';

const MINIMAL = `people:
  dana: { groups: [dba] }
servers:
  orders-db:
    stdio: { command: node }
    tools:
      wipe: {}
access:
  - { subjects: ['*'], agents: [support-bot], server: orders-db, tools: [wipe, read_rows] }
rules:
  - id: wipes
    server: orders-db
    scope: destructive
    approvers: { people: [dana] }
`;

const ruleOf = (policy: Policy): Rule => policy.rules[0]!;
const serverOf = (policy: Policy): ServerEntry => policy.servers['orders-db']!;
const toolOf = (policy: Policy, name: string): ToolEntry => serverOf(policy).tools[name]!;

/** The rule of the minimal policy with lines added to it. */
const ruleWith = (line: string): Rule => ruleOf(policyOf(`${MINIMAL}    ${line}\n`));

/** The minimal policy with an emergency rule of these lines. */
const withEmergency = (lines: string): string => `${MINIMAL}  - id: break-glass
    server: orders-db
    scope: { tools: [wipe] }
    approvers: { people: [dana] }
    ${lines}
`;

/** The one tool of the minimal policy with this entry. */
const toolWith = (entry: string): ToolEntry =>
  toolOf(policyOf(edited(MINIMAL, ['wipe: {}', `wipe: ${entry}`])), 'wipe');

describe('defaults', () => {
  test('a rule asks once, binds every argument, bars the requester, and expires after a day', () => {
    expect(ruleOf(policyOf(MINIMAL))).toEqual({
      id: 'wipes',
      version: expect.stringMatching(/^sha256:/) as string,
      server: 'orders-db',
      scope: { kind: 'destructive' },
      when: {},
      approvers: { groups: [], people: ['dana'], quorum: 1 },
      selfApproval: false,
      bind: 'arguments',
      validity: { kind: 'once' },
      escalate: [],
      deadline: { afterMs: 86_400_000, then: 'expire', remindEveryMs: null },
      emergency: false,
    });
  });

  test('a server is not trusted, independent of sessions and enabled', () => {
    const { tools: _, identity, ...server } = serverOf(policyOf(MINIMAL));
    expect(identity).toMatch(/^sha256:/);
    expect(server).toEqual({
      name: 'orders-db',
      transport: { kind: 'stdio', command: 'node', args: [], env: {}, cwd: null },
      hints: 'untrusted',
      session: 'independent',
      enabled: true,
    });
  });

  test('a tool is enabled, declares nothing, and has a minute', () => {
    expect(toolOf(policyOf(MINIMAL), 'wipe')).toEqual({
      name: 'wipe',
      enabled: true,
      fill: {},
      material: [],
      version: null,
      preview: null,
      state: null,
      outcome: null,
      idempotent: false,
      classification: null,
      reversible: null,
      expected: null,
      secrets: [],
      timeoutMs: 60_000,
      destructive: null,
    });
  });

  test('a look-up proves no absence, waits 10 s and gives up after 5 min', () => {
    const { outcome } = toolWith(
      '{ outcome: { http: { url: "https://x/ops/{operationId}?full=1" }, executed: { at: "", equals: { done: [true, null, 1.5] } } } }',
    );
    expect(outcome).toEqual({
      source: { kind: 'http', url: 'https://x/ops/{operationId}?full=1', headers: {} },
      executed: { at: '', equals: { done: [true, null, 1.5] } },
      authoritative: false,
      settleAfterMs: 10_000,
      budgetMs: 300_000,
    });
  });
});

describe('what a policy can say', () => {
  test.each([
    ['validity: once', { kind: 'once' }],
    ['validity: { minutes: 15 }', { kind: 'window', uses: null, durationMs: 900_000, total: {} }],
    ['validity: { minutes: 0.05 }', { kind: 'window', uses: null, durationMs: 3_000, total: {} }],
    ['validity: { uses: 3 }', { kind: 'window', uses: 3, durationMs: null, total: {} }],
    ['validity: { uses: 3, minutes: 60 }', { kind: 'window', uses: 3, durationMs: 3_600_000, total: {} }],
    ['validity: { minutes: 43200 }', { kind: 'window', uses: null, durationMs: 2_592_000_000, total: {} }],
  ])('%s', (line, validity) => {
    expect(ruleWith(line).validity).toEqual(validity);
  });

  test('a window with a total over an amount', () => {
    const text = edited(
      MINIMAL,
      ['wipe: {}', 'wipe: { material: { amount: { at: /amount, as: amount } } }\n      other: {}'],
      ['scope: destructive', 'scope: destructive\n    validity: { minutes: 60, total: { amount: 500 } }'],
    );
    expect(ruleOf(policyOf(text)).validity).toEqual({
      kind: 'window',
      uses: null,
      durationMs: 3_600_000,
      total: { amount: 500 },
    });
  });

  test.each([
    ['deadline: { after: 1s }', { afterMs: 1_000, then: 'expire', remindEveryMs: null }],
    ['deadline: { after: 30d, then: expire }', { afterMs: 2_592_000_000, then: 'expire', remindEveryMs: null }],
    [
      'deadline: { after: 2h, then: keepWaiting }',
      { afterMs: 7_200_000, then: 'keepWaiting', remindEveryMs: 86_400_000 },
    ],
    [
      'deadline: { after: 2h, then: keepWaiting, remindEvery: 30m }',
      { afterMs: 7_200_000, then: 'keepWaiting', remindEveryMs: 1_800_000 },
    ],
  ])('%s', (line, deadline) => {
    expect(ruleWith(line).deadline).toEqual(deadline);
  });

  test.each([
    'validity: once',
    'validity: { minutes: 15 }',
    'validity: { uses: 1 }',
    'validity: { uses: 1, minutes: 60 }',
  ])('an emergency rule with %s', (line) => {
    const text = withEmergency(`emergency: true\n    ${line}`);
    expect(policyOf(text).rules.at(-1)?.emergency).toEqual({ reviewWithinMs: 259_200_000 });
  });

  test('the time in which an emergency has to be reviewed', () => {
    const text = withEmergency('emergency: { reviewWithin: 8h }');
    expect(policyOf(text).rules.at(-1)?.emergency).toEqual({ reviewWithinMs: 28_800_000 });
    expect(policyOf(withEmergency('emergency: false')).rules.at(-1)?.emergency).toBe(false);
  });

  test('escalation after the reminder of a request that is kept waiting', () => {
    const rule = ruleWith(
      'deadline: { after: 1h, then: keepWaiting }\n    escalate: [{ after: 2h, to: { people: [dana] } }]',
    );
    expect(rule.escalate).toEqual([{ afterMs: 7_200_000, to: { groups: [], people: ['dana'] } }]);
  });

  test('each condition', () => {
    const text = edited(
      MINIMAL,
      [
        'wipe: {}',
        `wipe:
        material:
          a: { at: /a, as: text }
          b: { at: /b, as: boolean }
          c: { at: /c, as: json }
          d: { at: /d, as: timestamp }
          e: { at: /e, as: amount }
          f: { at: /f, as: number }
          g: { at: /g, as: json }
          h: { at: /h, as: number }`,
      ],
      [
        'scope: destructive',
        `scope: destructive
    when:
      a: { is: x }
      b: { isNot: true }
      c: { oneOf: [1, two, false] }
      d: { noneOf: ['2026-01-01'] }
      e: { atLeast: 1.5 }
      f: { atMost: 2 }
      g: { above: 3 }
      h: { below: 4 }`,
      ],
    );
    expect(ruleOf(policyOf(text)).when).toEqual({
      a: { op: 'is', value: 'x' },
      b: { op: 'isNot', value: true },
      c: { op: 'oneOf', values: [1, 'two', false] },
      d: { op: 'noneOf', values: ['2026-01-01'] },
      e: { op: 'atLeast', value: 1.5 },
      f: { op: 'atMost', value: 2 },
      g: { op: 'above', value: 3 },
      h: { op: 'below', value: 4 },
    });
  });

  test('a look-up by SQL, with the address of the database as a reference', () => {
    const { outcome } = toolWith(
      `{ outcome: { sql: { database: '\${ORDERS_DB}', query: 'SELECT "a?" FROM m WHERE op = $1;' }, executed: { at: /0/a, equals: 1 }, settleAfter: 0s, budget: 1s } }`,
    );
    expect(outcome).toEqual({
      source: { kind: 'sql', database: '${ORDERS_DB}', query: 'SELECT "a?" FROM m WHERE op = $1;' },
      executed: { at: '/0/a', equals: 1 },
      authoritative: false,
      settleAfterMs: 0,
      budgetMs: 1_000,
    });
  });

  test('the password of a database as a reference', () => {
    const { outcome } = toolWith(
      `{ outcome: { sql: { database: 'postgres://app:\${ORDERS_DB_PASSWORD}@db/orders', query: 'select a from m where op = ?' }, executed: { at: /0/a, equals: 1 } } }`,
    );
    expect(outcome?.source).toMatchObject({ database: 'postgres://app:${ORDERS_DB_PASSWORD}@db/orders' });
  });

  test('a look-up by a tool that gets the arguments of the call, with the operation id in them', () => {
    const { outcome } = toolWith(
      '{ arguments: { id: { fill: operationId } }, outcome: { tool: find, executed: { at: /found, equals: true } } }',
    );
    expect(outcome?.source).toEqual({ kind: 'tool', read: { tool: 'find', arguments: null } });
  });

  test('a material field from a fresh read, literal arguments, and what the operator says of the tool', () => {
    const tool = toolWith(
      `{ destructive: true, idempotent: true, enabled: false, reversible: no, expected: 12 rows go, state: { tool: stats, arguments: { table: { value: [orders] } } }, preview: { tool: plan }, material: { rows: { at: /rows, as: number, from: state } } }`,
    );
    expect(tool).toMatchObject({
      destructive: true,
      idempotent: true,
      enabled: false,
      reversible: 'no',
      expected: '12 rows go',
      state: { tool: 'stats', arguments: { table: { kind: 'literal', value: ['orders'] } } },
      preview: { tool: 'plan', arguments: null, show: 'text' },
      material: [{ name: 'rows', at: '/rows', as: 'number', from: 'state' }],
    });
  });

  test('a stdio server with a reference in its environment', () => {
    const text = edited(MINIMAL, [
      'stdio: { command: node }',
      "stdio: { command: node, args: [server.js, --token-bucket], env: { API_TOKEN: '${T}', MAX_TOKENS: '5' }, cwd: /srv }",
    ]);
    expect(serverOf(policyOf(text)).transport).toEqual({
      kind: 'stdio',
      command: 'node',
      args: ['server.js', '--token-bucket'],
      env: { API_TOKEN: '${T}', MAX_TOKENS: '5' },
      cwd: '/srv',
    });
  });

  test('access to a tool of which the policy says nothing else', () => {
    expect(policyOf(MINIMAL).access).toEqual([
      { subjects: ['*'], agents: ['support-bot'], server: 'orders-db', tools: ['wipe', 'read_rows'], when: {} },
    ]);
  });

  test('entries with the names of built-in members of objects', () => {
    const text = edited(
      MINIMAL,
      ['  dana:', '  constructor:'],
      ['people: [dana]', 'people: [constructor]'],
      ['wipe: {}', 'toString: {}'],
    );
    const policy = policyOf(text);
    expect(Object.keys(policy.people)).toEqual(['constructor']);
    expect(Object.keys(serverOf(policy).tools)).toEqual(['toString']);
  });

  test('several keys of one person', () => {
    const eli = policyOf(
      edited(ORDERS_POLICY, [
        'key: [ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE]',
        'key: [ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE, ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI]',
      ]),
    ).people['eli'];
    expect(eli?.keys).toHaveLength(2);
  });
});
