import { parsePolicyFile } from '../../core/policy-file';
import { ORDERS_POLICY, edited, policyOf, problemsOf } from '../support/policy-fixture';

const EMPTY = 'servers: {}\naccess: []\nrules: []\n';

describe('the text of a policy file', () => {
  test('reads the worked example whole', () => {
    const policy = policyOf(ORDERS_POLICY);
    expect(policy.trust).toBeNull();
    expect(policy.people).toEqual({
      dana: {
        name: 'dana',
        groups: ['dba'],
        keys: ['ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
        subjects: ['dana', 'user:dana'],
      },
      eli: {
        name: 'eli',
        groups: ['dba', 'dba-leads'],
        keys: ['ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE'],
        subjects: ['eli', 'user:eli'],
      },
      amira: { name: 'amira', groups: ['platform'], keys: [], subjects: ['user:amira', 'auth0|77'] },
    });
    expect(policy.access).toEqual([
      { subjects: ['group:platform'], agents: ['*'], server: 'orders-db', tools: ['*'], when: {} },
    ]);
    expect(policy.rules).toEqual([
      {
        id: 'production-migrations',
        version: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
        server: 'orders-db',
        scope: { kind: 'tools', tools: ['apply_migration'] },
        when: { environment: { op: 'is', value: 'production' } },
        approvers: { groups: ['dba'], people: [], quorum: 1 },
        selfApproval: false,
        bind: 'material',
        validity: { kind: 'once' },
        escalate: [{ afterMs: 600_000, to: { groups: ['dba-leads'], people: [] } }],
        deadline: { afterMs: 1_800_000, then: 'expire', remindEveryMs: null },
        emergency: false,
      },
    ]);
  });

  test('reads a server and its tools, and keeps references to secrets as references', () => {
    const server = policyOf(ORDERS_POLICY).servers['orders-db'];
    expect(server).toEqual({
      name: 'orders-db',
      transport: {
        kind: 'http',
        url: 'http://127.0.0.1:4100/mcp',
        headers: { Authorization: 'Bearer ${ORDERS_TOKEN}' },
      },
      hints: 'untrusted',
      session: 'independent',
      enabled: true,
      identity: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
      tools: {
        apply_migration: {
          name: 'apply_migration',
          enabled: true,
          fill: { operation_id: { kind: 'operationId' } },
          material: [
            { name: 'environment', at: '/environment', as: 'text', from: 'arguments' },
            { name: 'statement', at: '/sql', as: 'sql', from: 'arguments' },
          ],
          version: {
            tool: 'schema_version',
            arguments: { environment: { kind: 'pointer', at: '/environment' } },
            read: '/structuredContent/version',
          },
          preview: { tool: 'plan_migration', arguments: null, show: 'diff' },
          state: { tool: 'describe_schema', arguments: { environment: { kind: 'pointer', at: '/environment' } } },
          outcome: {
            source: {
              kind: 'tool',
              read: { tool: 'find_migration', arguments: { operation_id: { kind: 'operationId' } } },
            },
            executed: { at: '/structuredContent/applied', equals: true },
            authoritative: true,
            settleAfterMs: 10_000,
            budgetMs: 300_000,
          },
          idempotent: false,
          classification: 'customer-data',
          reversible: 'with-effort',
          expected: null,
          secrets: ['/password'],
          timeoutMs: 30_000,
          destructive: null,
        },
      },
    });
  });

  test('reads the console: its keys, and who operates it', () => {
    const key = `ed25519:${'A'.repeat(43)}`;
    const people = 'people:\n  dana: { groups: [ops] }\nservers: {}\naccess: []\nrules: []\n';
    expect(policyOf(`console: { key: '${key}', operators: { groups: [ops] } }\n${people}`).console).toEqual({
      keys: [key],
      operators: { groups: ['ops'], people: [] },
    });
    expect(policyOf(people)).not.toHaveProperty('console');
    expect(problemsOf(`console: { key: nothing, operators: { groups: [opps], people: [eve] } }\n${people}`)).toEqual([
      '1:17 POLICY_BAD_VALUE console.key must be "ed25519:" and 32 bytes in base64url [holdpoint key new prints it.]',
    ]);
    expect(problemsOf(`console: { key: '${key}', operators: { groups: [opps] } }\n${people}`)).toEqual([
      '1:94 POLICY_NO_REVIEWERS console: the group "opps" has no members; groups with members: ops [Did you mean "ops"?]',
    ]);
  });

  test('one key is not a person and the console', () => {
    const key = `ed25519:${'A'.repeat(43)}`;
    const text = `console: { key: '${key}' }\npeople:\n  dana: { key: '${key}' }\nservers: {}\naccess: []\nrules: []\n`;
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^3:\d+ POLICY_DUPLICATE_NAME dana and the console both have "ed25519:A+"/),
    ]);
  });

  test('reads version and trust', () => {
    expect(policyOf(`version: 1\ntrust: signatures\n${EMPTY}`).trust).toBe('signatures');
    expect(problemsOf(`version: 2\ntrust: nobody\n${EMPTY}`)).toEqual([
      '1:10 POLICY_BAD_VALUE version must be 1, not 2',
      '2:8 POLICY_BAD_VALUE trust must be one of signatures, namespace, not "nobody"',
    ]);
  });

  test('names the file in each problem', () => {
    const parsed = parsePolicyFile('rules: []\n', 'gate/policy.yaml');
    expect(parsed).toEqual({
      ok: false,
      problems: [
        {
          code: 'POLICY_MISSING_KEY',
          message: 'the policy has no "servers"',
          file: 'gate/policy.yaml',
          line: 1,
          column: 1,
          hint: 'Write it even if it is empty: "servers: {}".',
        },
        {
          code: 'POLICY_MISSING_KEY',
          message: 'the policy has no "access"',
          file: 'gate/policy.yaml',
          line: 1,
          column: 1,
          hint: 'Write it even if it is empty: "access: []".',
        },
      ],
    });
  });

  test.each([
    { name: 'an empty file', text: '', at: '1:1 POLICY_MISSING_KEY the policy is empty' },
    { name: 'a file of comments', text: '# nothing\n', at: '1:1 POLICY_MISSING_KEY the policy is empty' },
    {
      name: 'text that is no mapping',
      text: 'hello',
      at: '1:1 POLICY_WRONG_TYPE the policy must be a mapping, not "hello"',
    },
    { name: 'a list', text: '[]', at: '1:1 POLICY_WRONG_TYPE the policy must be a mapping, not a list' },
    { name: 'an unclosed list', text: 'rules: [1\n', at: '2:1 POLICY_SYNTAX' },
    { name: 'a tab as indent', text: 'servers:\n\tx: 1\n', at: '2:1 POLICY_SYNTAX' },
    { name: 'a value that begins with @', text: 'a: @x', at: '1:4 POLICY_SYNTAX' },
    { name: 'an anchor', text: 'people: &p {}\n', at: '1:12 POLICY_YAML_FEATURE the anchor "p" is not allowed' },
    { name: 'a tag', text: 'trust: !!str namespace', at: '1:14 POLICY_YAML_FEATURE the tag' },
    { name: 'a tag of its own', text: 'trust: !x namespace', at: '1:8 POLICY_YAML_FEATURE Unresolved tag: !x' },
    {
      name: 'a merge key',
      text: 'servers:\n  <<: { a: 1 }',
      at: '2:3 POLICY_YAML_FEATURE merge keys (<<) are not allowed',
    },
    { name: 'a number as key', text: 'servers: { 1: {} }', at: '1:12 POLICY_YAML_FEATURE a key must be text' },
    { name: 'a list as key', text: '? [a]\n: 1', at: '1:3 POLICY_YAML_FEATURE a key must be text' },
    { name: '__proto__ as key', text: '__proto__: 1', at: '1:1 POLICY_YAML_FEATURE a key must be text' },
    { name: 'YAML 1.1', text: '# old\n%YAML 1.1\n---\nrules: no', at: '2:1 POLICY_YAML_FEATURE directives' },
    { name: 'two documents', text: 'a: 1\n---\nb: 2', at: '2:1 POLICY_YAML_FEATURE a second document begins here' },
    { name: 'half a character', text: 'a: "\\uD800"', at: '1:4 POLICY_BAD_VALUE a holds half of a character' },
    { name: 'a nesting bomb', text: '['.repeat(50_000), at: '1:26 POLICY_TOO_LARGE more than 24 levels' },
    { name: 'a nesting bomb of mappings', text: '? '.repeat(20_000), at: '1:51 POLICY_TOO_LARGE more than 24 levels' },
    {
      name: 'over a mebibyte',
      text: `# ${'x'.repeat(1_048_576)}`,
      at: '1:1 POLICY_TOO_LARGE the file has 1048578 bytes',
    },
  ])('refuses $name at its place', ({ text, at }) => {
    const [first] = problemsOf(text);
    expect(first?.slice(0, at.length)).toBe(at);
  });

  test('refuses aliases, so that no text can grow', () => {
    expect(problemsOf('a: &a [1]\nb: [*a, *a]\n')).toEqual([
      '1:7 POLICY_YAML_FEATURE the anchor "a" is not allowed [Write the value out where it is used.]',
      '2:5 POLICY_YAML_FEATURE the alias "a" is not allowed [Write the value out where it is used.]',
      '2:9 POLICY_YAML_FEATURE the alias "a" is not allowed [Write the value out where it is used.]',
    ]);
  });

  test('reports unsafe numbers beside what else is wrong', () => {
    expect(problemsOf('servers: 9007199254740993\naccess: 1e400\nrules: 1.5')).toEqual([
      '1:10 POLICY_BAD_VALUE servers is a number that cannot be kept exactly [Put it in quotes if it is text.]',
      '1:10 POLICY_WRONG_TYPE servers must be a mapping, not 9007199254740992',
      '2:9 POLICY_BAD_VALUE access is a number that cannot be kept exactly [Put it in quotes if it is text.]',
      '2:9 POLICY_WRONG_TYPE access must be a list, not Infinity',
      '3:8 POLICY_WRONG_TYPE rules must be a list, not 1.5',
    ]);
  });

  test('an empty value and a flow key without a value are nothing, at the place where they would stand', () => {
    expect(problemsOf('servers:\naccess: []\nrules: []\n')).toEqual([
      '1:9 POLICY_WRONG_TYPE servers must be a mapping, not nothing',
    ]);
    expect(problemsOf('{ servers, access: [], rules: [] }')).toEqual([
      '1:3 POLICY_WRONG_TYPE servers must be a mapping, not nothing',
    ]);
  });

  test('accepts CRLF line ends and a byte-order mark', () => {
    expect(problemsOf(`\uFEFF${ORDERS_POLICY.replaceAll('\n', '\r\n')}`)).toEqual([]);
  });
});

describe('bad input of the cases', () => {
  const RULES = `people:
  r1: { groups: [dba] }
servers:
  db: { stdio: { command: node }, tools: { wipe: {} } }
access: []
rules:
  - id: wipes
    server: db
    scope: { tools: [wipe] }
    approvers:
      groups: [dba]
`;

  test.each(['allow', 'approve', 'Approved', 'accept'])(
    'a deadline that would end in %s is an error with a hint [TIME-04] [TIME2-4]',
    (then) => {
      expect(problemsOf(`${RULES}    deadline: { after: 30m, then: ${then} }\n`)).toEqual([
        `12:35 POLICY_BAD_VALUE rules[0].deadline.then must be one of expire, keepWaiting, not "${then}" ` +
          '[An approval by time-out cannot be written: silence never allows a call. Write expire or keepWaiting.]',
      ]);
    },
  );

  test('a misspelt key, a wrong type and a key written twice are reported together, in file order [TIME2-8]', () => {
    expect(problemsOf(`${RULES}      quorom: 2\n      quorum: two\n      quorum: 3\n`)).toEqual([
      '12:7 POLICY_UNKNOWN_KEY rules[0].approvers.quorom is not a key here; allowed: groups, people, quorum [Did you mean "quorum"?]',
      '13:15 POLICY_WRONG_TYPE rules[0].approvers.quorum must be a number, not "two"',
      '14:7 POLICY_DUPLICATE_KEY rules[0].approvers.quorum is written twice; the first is in line 13 [Keep one of them.]',
    ]);
  });

  test('a rule whose approvers are nobody is an error at apply [WHO-10] [FORGE-11]', () => {
    expect(problemsOf(edited(RULES, ['      groups: [dba]', '      groups: [night]']))).toEqual([
      '11:16 POLICY_NO_REVIEWERS rule wipes: the group "night" has no members; groups with members: dba [Add "groups: [night]" to a person.]',
    ]);
  });
});
