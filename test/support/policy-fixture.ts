import { parsePolicyFile } from '../../core/policy-file';
import type { CallFacts, MaterialField } from '../../core/evaluation';
import type { Policy } from '../../core/policy';

/** The worked example of the design, on real keys: what most policy tests start from. */
export const ORDERS_POLICY = `people:
  dana: { groups: [dba], key: ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA }
  eli: { groups: [dba, dba-leads], key: [ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE] }
  amira: { groups: [platform], subjects: ['user:amira', 'auth0|77'] }
servers:
  orders-db:
    http: { url: http://127.0.0.1:4100/mcp, headers: { Authorization: 'Bearer \${ORDERS_TOKEN}' } }
    tools:
      apply_migration:
        arguments: { operation_id: { fill: operationId } }
        material:
          environment: { at: /environment, as: text }
          statement: { at: /sql, as: sql }
        version: { tool: schema_version, arguments: { environment: { at: /environment } }, read: /structuredContent/version }
        preview: { tool: plan_migration, show: diff }
        outcome: { tool: find_migration, arguments: { operation_id: { fill: operationId } }, executed: { at: /structuredContent/applied, equals: true }, authoritative: true, settleAfter: 10s }
        state: { tool: describe_schema, arguments: { environment: { at: /environment } } }
        classification: customer-data
        reversible: with-effort
        secrets: [/password]
        timeout: 30s
access:
  - { subjects: [group:platform], agents: ['*'], server: orders-db, tools: ['*'] }
rules:
  - id: production-migrations
    server: orders-db
    scope: { tools: [apply_migration] }
    when: { environment: { is: production } }
    approvers: { groups: [dba], quorum: 1 }
    bind: material
    validity: once
    escalate: [ { after: 10m, to: { groups: [dba-leads] } } ]
    deadline: { after: 30m, then: expire }
`;

/** The policy of a text that is meant to be valid. */
export function policyOf(text: string): Policy {
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems, null, 2));
  return parsed.policy;
}

/** What is wrong with a text, as `line:column CODE message` with the hint in brackets. */
export function problemsOf(text: string): string[] {
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (parsed.ok) return [];
  return parsed.problems.map(({ line, column, code, message, hint }) => {
    return `${line}:${column} ${code} ${message}${hint === null ? '' : ` [${hint}]`}`;
  });
}

/** A text with its parts replaced; each part must be there, so that a test cannot prove nothing. */
export function edited(text: string, ...edits: readonly (readonly [from: string, to: string])[]): string {
  return edits.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`not in the text: ${from}`);
    return before.replace(from, () => to);
  }, text);
}

/** A material field of the arguments that was found. */
export function field(name: string, value: MaterialField['value'], as: MaterialField['as'] = 'text'): MaterialField {
  return { name, as, from: 'arguments', at: `/${name}`, found: true, value };
}

/** `apply_migration` in production, asked by amira through a bot, on a server that gives no hints. */
export function callFacts(changes: Partial<CallFacts> = {}): CallFacts {
  return {
    requester: { subject: 'user:amira', agent: 'support-bot', chain: [] },
    server: 'orders-db',
    tool: 'apply_migration',
    hints: { readOnly: null, destructive: null },
    material: [
      field('environment', 'production'),
      field('statement', 'ALTER TABLE orders ADD COLUMN note text', 'sql'),
    ],
    ...changes,
  };
}
