import { evaluate } from '../../core/evaluate-policy';
import type { CallFacts } from '../../core/evaluation';
import { callFacts, edited, field, policyOf } from '../support/policy-fixture';

const POLICY = `people:
  amira: { groups: [platform], subjects: ['auth0|77', 'user:amira'] }
  bo: { groups: [] }
servers:
  orders-db:
    stdio: { command: node }
    tools:
      apply_migration: { material: { environment: { at: /environment, as: text } } }
      wipe: { enabled: false }
  billing-db: { stdio: { command: node }, enabled: false }
  hidden-db: { stdio: { command: node } }
access:
  - { subjects: [group:platform], agents: [support-bot], server: orders-db, tools: [apply_migration, wipe], when: { environment: { oneOf: [staging, production] } } }
  - { subjects: [user:bo], agents: ['*'], server: orders-db, tools: ['*'] }
  - { subjects: ['*'], agents: [nightly], server: orders-db, tools: [read_rows] }
  - { subjects: [user:bo], agents: ['*'], server: billing-db, tools: ['*'] }
rules: []
`;

const who = (subject: string, agent: string, chain: string[] = []) => ({ requester: { subject, agent, chain } });

function verdictOf(changes: Partial<CallFacts>, text = POLICY): string {
  const verdict = evaluate(policyOf(text), callFacts(changes), false);
  return verdict.access === 'granted' ? 'granted' : verdict.code;
}

describe('access', () => {
  test.each([
    { name: 'a member of the group, through the agent', changes: {}, verdict: 'granted' },
    { name: 'another name of the same person', changes: who('auth0|77', 'support-bot'), verdict: 'granted' },
    {
      name: 'the person’s name, where subjects are written out',
      changes: who('amira', 'support-bot'),
      verdict: 'ACCESS_DENIED',
    },
    { name: 'the right subject through another agent', changes: who('user:amira', 'bot'), verdict: 'ACCESS_DENIED' },
    {
      name: 'another subject through the right agent',
      changes: who('user:eve', 'support-bot'),
      verdict: 'ACCESS_DENIED',
    },
    {
      name: 'the group’s own name as subject',
      changes: who('group:platform', 'support-bot'),
      verdict: 'ACCESS_DENIED',
    },
    { name: 'a tool that no entry names', changes: { tool: 'drop' }, verdict: 'ACCESS_DENIED' },
    {
      name: 'a value that the condition excludes',
      changes: { material: [field('environment', 'dev')] },
      verdict: 'ACCESS_DENIED',
    },
    { name: 'a missing value under a condition', changes: { material: [] }, verdict: 'ACCESS_DENIED' },
    {
      name: 'an exact subject, any agent, any tool',
      changes: { ...who('user:bo', 'x'), tool: 'drop' },
      verdict: 'granted',
    },
    {
      name: 'any subject through one agent',
      changes: { ...who('user:eve', 'nightly'), tool: 'read_rows' },
      verdict: 'granted',
    },
    { name: 'a server that is not there', changes: { server: 'orders' }, verdict: 'SERVER_UNKNOWN' },
    { name: 'a built-in member as server', changes: { server: 'constructor' }, verdict: 'SERVER_UNKNOWN' },
    { name: 'a server without access', changes: { server: 'hidden-db' }, verdict: 'ACCESS_DENIED' },
    { name: 'a disabled tool', changes: { tool: 'wipe' }, verdict: 'TOOL_DISABLED' },
    { name: 'a disabled server', changes: { ...who('user:bo', 'x'), server: 'billing-db' }, verdict: 'TOOL_DISABLED' },
    {
      name: 'a disabled tool without access',
      changes: { ...who('user:eve', 'x'), tool: 'wipe' },
      verdict: 'ACCESS_DENIED',
    },
  ])('$name: $verdict', ({ changes, verdict }) => {
    expect(verdictOf(changes)).toBe(verdict);
  });

  test('no entry, no access', () => {
    const none = `${POLICY.slice(0, POLICY.indexOf('access:'))}access: []\nrules: []\n`;
    expect(verdictOf({}, none)).toBe('ACCESS_DENIED');
  });

  test('the refusal says who and what', () => {
    expect(evaluate(policyOf(POLICY), callFacts(who('user:eve', 'bot')), false)).toEqual({
      access: 'refused',
      code: 'ACCESS_DENIED',
      detail:
        'No access entry lets user:eve through bot call apply_migration on orders-db. Ask an operator to grant access; an approval cannot.',
    });
  });

  test('an unknown server names those that this requester may reach, and no others', () => {
    const verdict = (subject: string) =>
      evaluate(policyOf(POLICY), callFacts({ ...who(subject, 'x'), server: 'none' }), false);
    expect(verdict('user:bo')).toEqual({
      access: 'refused',
      code: 'SERVER_UNKNOWN',
      detail: 'No server none in the active policy. Known: billing-db, orders-db.',
    });
    expect(verdict('user:eve')).toMatchObject({ detail: 'No server none in the active policy. Known: none.' });
  });

  test('conditions of several fields must all hold', () => {
    const text = edited(POLICY, [
      'material: { environment: { at: /environment, as: text } }',
      'material: { environment: { at: /environment, as: text }, rows: { at: /rows, as: number } }',
    ]).replace('oneOf: [staging, production] }', 'oneOf: [staging, production] }, rows: { below: 10 }');
    const rows = (count: number) => [field('environment', 'staging'), field('rows', count, 'number')];
    expect(verdictOf({ material: rows(9) }, text)).toBe('granted');
    expect(verdictOf({ material: rows(10) }, text)).toBe('ACCESS_DENIED');
    expect(verdictOf({ material: [field('environment', 'staging')] }, text)).toBe('ACCESS_DENIED');
  });
});
