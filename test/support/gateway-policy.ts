import { parsePolicyFile } from '../../core/policy-file';
import type { Harness } from './harness';

/** One server on HTTP; without `tools`, with those of the test tool server. */
export interface GatewayServer {
  readonly url: string;
  readonly session?: 'client' | 'independent';
  readonly hints?: 'trusted' | 'untrusted';
  readonly enabled?: boolean;
  /** YAML of the server's `tools`, as a flow mapping. */
  readonly tools?: string;
  /** YAML of the transport's headers, as a flow mapping. */
  readonly headers?: string;
}

export interface GatewayPolicy {
  readonly servers: Readonly<Record<string, GatewayServer>>;
  /** YAML lines of `access`; everybody in `platform` may use every server, by default. */
  readonly access?: string;
  /** YAML lines of `rules`; by default one for each server that asks `dba` for what writes. */
  readonly rules?: string;
  readonly validity?: string;
  readonly bind?: 'material' | 'arguments' | 'tool';
  readonly deadline?: string;
  readonly scope?: string;
}

const PEOPLE = `  r1: { groups: [dba] }
  r2: { groups: [dba] }
  u1: { groups: [platform] }
  u2: { groups: [platform] }
  stranger: { groups: [] }`;

const OUTCOME =
  'outcome: { tool: find_migration, arguments: { operation_id: { fill: operationId } }, executed: { at: /structuredContent/applied, equals: true }, authoritative: true, settleAfter: 1s, budget: 5s }';

const TOOLS = `{
        read_rows: { destructive: false },
        find_migration: { destructive: false },
        schema_version: { destructive: false },
        delete_rows: { material: { id: { at: /id, as: number } } },
        apply_migration: {
          arguments: { operation_id: { fill: operationId } },
          material: { environment: { at: /environment, as: text }, statement: { at: /sql, as: sql } },
          secrets: [/password],
          ${OUTCOME} },
        send_mail: { timeout: 2s, material: { to: { at: /to, as: text } } } }`;

/** A policy for gateways: any number of servers, and rules that can be stated. */
export function gatewayPolicyText(policy: GatewayPolicy): string {
  const names = Object.keys(policy.servers);
  const access = names.map(
    (name) => `  - { subjects: ['group:platform'], agents: ['*'], server: ${name}, tools: ['*'] }`,
  );
  return `trust: namespace
people:
${PEOPLE}
servers:
${Object.entries(policy.servers).map(serverText).join('\n')}
access:
${policy.access ?? access.join('\n')}
rules:
${policy.rules ?? names.map((name) => ruleText(name, policy)).join('\n')}
`;
}

function serverText([name, { url, session, hints, enabled, tools, headers }]: [string, GatewayServer]): string {
  return `  ${name}:
    http: { url: '${url}', headers: ${headers ?? '{}'} }
    session: ${session ?? 'independent'}
    hints: ${hints ?? 'untrusted'}
    enabled: ${String(enabled ?? true)}
    tools: ${tools ?? TOOLS}`;
}

function ruleText(server: string, { validity, bind, deadline, scope }: GatewayPolicy): string {
  return `  - id: ask-${server}
    server: ${server}
    scope: ${scope ?? '{ tools: [apply_migration, delete_rows, send_mail] }'}
    approvers: { groups: [dba], quorum: 1 }
    bind: ${bind ?? 'material'}
    validity: ${validity ?? 'once'}
    deadline: ${deadline ?? '{ after: 30m, then: expire }'}`;
}

/** Makes the text the active policy; @returns its version. */
export async function applyPolicyText({ deps }: Pick<Harness, 'deps'>, text: string): Promise<number> {
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok) throw new Error(parsed.problems.map(({ line, message }) => `${line}: ${message}`).join('\n'));
  const applied = { text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' };
  return (await deps.ledger.applyPolicy(applied)).version;
}

export function applyGatewayPolicy(stage: Pick<Harness, 'deps'>, policy: GatewayPolicy): Promise<number> {
  return applyPolicyText(stage, gatewayPolicyText(policy));
}
