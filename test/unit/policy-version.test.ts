import { ORDERS_POLICY, edited, policyOf } from '../support/policy-fixture';

/** A policy with a second server, a second tool and a person of another group, of which the rule uses nothing. */
const BASE = edited(
  ORDERS_POLICY,
  ['servers:\n', '  fay: { groups: [audit] }\nservers:\n  billing-db: { stdio: { command: node } }\n'],
  [
    '      apply_migration:\n',
    '      wipe: { material: { id: { at: /id, as: number }, kind: { at: /kind, as: text } } }\n      apply_migration:\n',
  ],
  ['access:\n', "access:\n  - { subjects: [user:amira], agents: ['*'], server: orders-db, tools: [wipe] }\n"],
  ['rules:\n', 'rules:\n  - { id: other, server: billing-db, scope: all, approvers: { groups: [audit] } }\n'],
);

const versionOf = (text: string): string =>
  policyOf(text).rules.find((rule) => rule.id === 'production-migrations')!.version;

const BEFORE = versionOf(BASE);

describe('a rule keeps its version', () => {
  test.each([
    { name: 'a comment changes [WHO-14]', edits: [['rules:\n', '# reviewed in May\nrules: # all of them\n']] },
    {
      name: 'the order of people changes',
      edits: [
        ['  fay: { groups: [audit] }\n', ''],
        ['people:\n', 'people:\n  fay: { groups: [audit] }\n'],
      ],
    },
    {
      name: 'a reviewer joins a group that the rule does not use',
      edits: [['dana: { groups: [dba]', 'dana: { groups: [audit, dba]']],
    },
    { name: 'somebody else changes', edits: [['fay: { groups: [audit]', 'fay: { groups: [audit], subjects: [f]']] },
    { name: 'another server changes', edits: [['stdio: { command: node }', 'stdio: { command: deno }']] },
    { name: 'another tool changes', edits: [['as: number', 'as: amount']] },
    { name: 'access to another tool changes', edits: [['subjects: [user:amira]', "subjects: ['*']"]] },
    { name: 'another rule changes', edits: [['scope: all', 'scope: destructive']] },
    {
      name: 'another rule goes',
      edits: [['  - { id: other, server: billing-db, scope: all, approvers: { groups: [audit] } }\n', '']],
    },
    {
      name: 'a default is written out',
      edits: [['    bind: material\n', '    bind: material\n    selfApproval: false\n    emergency: false\n']],
    },
    { name: 'a name is given twice', edits: [['approvers: { groups: [dba]', 'approvers: { groups: [dba, dba]']] },
    {
      name: 'the order of material fields changes',
      edits: [
        ['          environment: { at: /environment, as: text }\n', ''],
        [
          'statement: { at: /sql, as: sql }\n',
          'statement: { at: /sql, as: sql }\n          environment: { at: /environment, as: text }\n',
        ],
      ],
    },
    { name: 'the trust in signatures changes', edits: [['people:\n', 'trust: signatures\npeople:\n']] },
  ] as { name: string; edits: [string, string][] }[])('when $name', ({ edits }) => {
    expect(versionOf(edited(BASE, ...edits))).toBe(BEFORE);
  });
});

describe('a rule gets another version', () => {
  test.each([
    { name: 'the address of the server changes [WHO-14]', edits: [['127.0.0.1:4100', '127.0.0.1:4101']] },
    { name: 'a header of the server changes', edits: [['Bearer ${ORDERS_TOKEN}', 'Bearer ${OTHER_TOKEN}']] },
    { name: 'the trust in its hints changes', edits: [['    tools:\n', '    hints: trusted\n    tools:\n']] },
    { name: 'its sessions change', edits: [['    tools:\n', '    session: client\n    tools:\n']] },
    { name: 'a tool of the rule changes', edits: [['timeout: 30s', 'timeout: 31s']] },
    {
      name: 'access to a tool of the rule changes',
      edits: [["agents: ['*'], server: orders-db, tools: ['*']", "agents: [bot], server: orders-db, tools: ['*']"]],
    },
    {
      name: 'access to a tool of the rule goes',
      edits: [["agents: ['*'], server: orders-db, tools: ['*']", "agents: ['*'], server: orders-db, tools: [wipe]"]],
    },
    {
      name: 'a reviewer gets another key',
      edits: [['AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI']],
    },
    {
      name: 'a reviewer gets another requester name',
      edits: [['dana: { groups: [dba]', "dana: { groups: [dba], subjects: ['auth0|1']"]],
    },
    { name: 'somebody joins the approvers', edits: [['fay: { groups: [audit]', 'fay: { groups: [audit, dba]']] },
    { name: 'somebody joins an escalation', edits: [['fay: { groups: [audit]', 'fay: { groups: [audit, dba-leads]']] },
    { name: 'the quorum changes', edits: [['quorum: 1', 'quorum: 2']] },
    { name: 'the condition changes', edits: [['is: production', 'oneOf: [production]']] },
    {
      name: 'the scope changes',
      edits: [['scope: { tools: [apply_migration] }', 'scope: { tools: [apply_migration, wipe] }']],
    },
    { name: 'the validity changes', edits: [['validity: once', 'validity: { uses: 1 }']] },
    { name: 'the deadline changes', edits: [['after: 30m', 'after: 31m']] },
    { name: 'the escalation changes', edits: [['after: 10m', 'after: 11m']] },
    { name: 'self-approval is allowed', edits: [['bind: material\n', 'bind: material\n    selfApproval: true\n']] },
  ] as { name: string; edits: [string, string][] }[])('when $name', ({ edits }) => {
    expect(versionOf(edited(BASE, ...edits))).not.toBe(BEFORE);
  });
});

describe('a rule for a whole server', () => {
  const all = edited(BASE, ['scope: { tools: [apply_migration] }', 'scope: destructive']);

  test('uses every tool that it can match', () => {
    expect(versionOf(edited(all, ['as: number', 'as: amount']))).not.toBe(versionOf(all));
  });

  test('does not use a tool that it cannot match', () => {
    const safe = edited(all, ['wipe: { ', 'wipe: { destructive: false, ']);
    expect(versionOf(edited(safe, ['as: number', 'as: amount']))).toBe(versionOf(safe));
    const everything = edited(safe, ['scope: destructive', 'scope: all']);
    expect(versionOf(edited(everything, ['as: number', 'as: amount']))).not.toBe(versionOf(everything));
  });

  test('uses every access entry of the server', () => {
    expect(versionOf(edited(all, ['subjects: [user:amira]', "subjects: ['*']"]))).not.toBe(versionOf(all));
  });
});

test('the order in a set of values does not matter', () => {
  const text = edited(
    BASE,
    ['is: production', 'oneOf: [a, b, 1]'],
    ['environment: { at: /environment, as: text }', 'environment: { at: /environment, as: json }'],
  );
  expect(versionOf(edited(text, ['[a, b, 1]', '[1, b, a]']))).toBe(versionOf(text));
});
