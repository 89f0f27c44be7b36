import type { Policy } from '../../core/policy';
import { parsePolicyFile } from '../../core/policy-file';
import { gatingOf, mayBeHeld, type GatingFacts } from '../../gateway/gate/gating';
import { gatewayPolicyText } from '../support/gateway-policy';

function policyOf(more: Partial<Parameters<typeof gatewayPolicyText>[0]> = {}): Policy {
  const servers = { 'orders-db': { url: 'http://127.0.0.1:1/mcp', ...SERVER } };
  const parsed = parsePolicyFile(gatewayPolicyText({ servers, ...more }), 'policy.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.policy;
}

const SERVER = {
  tools: `{
        read_rows: { destructive: false },
        off: { enabled: false },
        apply_migration: { material: { environment: { at: /environment, as: text } } },
        free: { arguments: { operation_id: { fill: operationId } }, destructive: false },
        guarded: { material: { owner: { at: /owner, as: text, from: state } }, state: { tool: read_rows } } }`,
};
const NO_HINTS = { readOnly: null, destructive: null };
const facts = (more: Partial<GatingFacts>): GatingFacts => ({
  requester: { subject: 'u1', agent: 'bot', chain: [] },
  ...{ server: 'orders-db', tool: 'apply_migration', arguments: {}, hints: NO_HINTS },
  ...more,
});
const RULE = `  - id: production
    server: orders-db
    scope: { tools: [apply_migration] }
    when: { environment: { is: production } }
    approvers: { groups: [dba] }`;

describe('a call', () => {
  const policy = policyOf({ rules: RULE });

  test.each([
    ['that the condition names', { arguments: { environment: 'production' } }, 'hold'],
    ['that the condition does not name', { arguments: { environment: 'staging' } }, 'pass'],
    ['without the value of the condition', { arguments: {} }, 'hold'],
    ['with null for the value of the condition', { arguments: { environment: null } }, 'hold'],
    ['of a tool that no rule names', { tool: 'read_rows' }, 'pass'],
    ['of a tool that the policy does not declare', { tool: 'other' }, 'pass'],
    ['of a tool whose argument Holdpoint fills, asked by no rule', { tool: 'free' }, 'hold'],
    ['of a disabled tool', { tool: 'off' }, 'refuse'],
    ['of an unknown server', { server: 'elsewhere' }, 'refuse'],
    ['of somebody without access', { requester: { subject: 'stranger', agent: 'bot', chain: [] } }, 'refuse'],
    ['of nobody that the policy knows', { requester: { subject: 'x', agent: 'bot', chain: [] } }, 'refuse'],
  ])('%s: %s', (_, more, kind) => {
    expect(gatingOf(policy, facts(more)).kind).toBe(kind);
  });

  test('of a tool without hints is destructive, on whatever server; a hint of an untrusted one lowers nothing [BYPASS-6]', () => {
    const destructive = policyOf({ scope: 'destructive', bind: 'arguments' });
    const safe = { readOnly: true, destructive: false };
    expect(gatingOf(destructive, facts({ tool: 'other' })).kind).toBe('hold');
    expect(gatingOf(destructive, facts({ tool: 'other', hints: safe })).kind).toBe('hold');
    expect(gatingOf(destructive, facts({ tool: 'read_rows' })).kind).toBe('pass');
  });

  test('whose access depends on the state of its target is held: the opening reads that', () => {
    const access = `  - { subjects: ['*'], agents: ['*'], server: orders-db, tools: ['*'], when: { owner: { is: u1 } } }`;
    const judged = policyOf({ access, rules: '  []' });
    expect(gatingOf(judged, facts({ tool: 'guarded' })).kind).toBe('hold');
  });
});

describe('a tool in a list', () => {
  const requester = { subject: 'u1', agent: 'bot', chain: [] };
  const held = (policy: Policy, tool: string, hints = NO_HINTS) =>
    mayBeHeld(policy, { requester, server: 'orders-db', tool, hints });

  test.each([
    ['apply_migration', true],
    ['free', true],
    ['read_rows', false],
    ['other', false],
  ])('%s may be held, whatever the arguments: %s', (tool, expected) => {
    expect(held(policyOf({ rules: RULE }), tool)).toBe(expected);
  });

  test('may be held by a rule for all, or for what is destructive', () => {
    const rest = { bind: 'arguments' } as const;
    expect(held(policyOf({ scope: 'all', ...rest }), 'read_rows')).toBe(true);
    expect(held(policyOf({ scope: 'destructive', ...rest }), 'read_rows')).toBe(false);
    expect(held(policyOf({ scope: 'destructive', ...rest }), 'other')).toBe(true);
  });

  test('may be held also where the requester has no access now: that may change before the call', () => {
    const stranger = { subject: 'stranger', agent: 'bot', chain: [] };
    const policy = policyOf({ rules: RULE });
    const facts = { requester: stranger, server: 'orders-db', tool: 'apply_migration', hints: NO_HINTS };
    expect(mayBeHeld(policy, facts)).toBe(true);
  });
});
