/** What a test may change of the standard policy; durations as the policy writes them. */
export interface PolicyVariant {
  readonly url: string;
  readonly trust?: 'namespace' | 'signatures';
  readonly quorum?: number;
  readonly bind?: 'material' | 'arguments' | 'tool';
  readonly validity?: string;
  readonly escalateAfter?: string;
  readonly deadline?: string;
  readonly settleAfter?: string;
  readonly budget?: string;
  readonly timeout?: string;
  readonly idempotent?: boolean;
  readonly selfApproval?: boolean;
  /** Adds a preview by `plan_migration`, and the state by `read_rows`, to the cards of `apply_migration`. */
  readonly preview?: boolean;
  /** JSON pointers into the arguments of `apply_migration`. */
  readonly secrets?: readonly string[];
  /** A line about the console; none by default. */
  readonly console?: string;
  /** Lines that stand in for parts of the standard policy. */
  readonly people?: string;
  readonly access?: string;
  readonly rules?: string;
  /** Whole rules that come after the others. */
  readonly moreRules?: string;
}

const PEOPLE = `  r1: { groups: [dba] }
  r2: { groups: [dba] }
  l1: { groups: [dba-leads] }
  u1: { groups: [platform] }
  u2: { groups: [platform] }`;

const ACCESS = `  - { subjects: ['group:platform'], agents: ['*'], server: orders-db, tools: ['*'] }`;

/**
 * The policy that the case tables assume: `read_rows` asks nobody; `delete_rows`, `apply_migration` and `send_mail` ask
 * `dba`, with escalation to `dba-leads` and expiry.
 */
export function policyText(variant: PolicyVariant): string {
  const {
    escalateAfter = '10m',
    deadline = '{ after: 30m, then: expire }',
    validity = 'once',
    bind = 'material',
    quorum = 1,
  } = variant;
  return `trust: ${variant.trust ?? 'namespace'}
${variant.console === undefined ? '' : `${variant.console}\n`}people:
${variant.people ?? PEOPLE}
servers:
  orders-db:
    http: { url: '${variant.url}' }
    tools:
      read_rows: { destructive: false }
      find_migration: { destructive: false }
      schema_version: { destructive: false }
      delete_rows:
        material:
          id: { at: /id, as: number }
${outcomeOf(variant)}
      apply_migration:
        arguments: { operation_id: { fill: operationId } }
        material:
          environment: { at: /environment, as: text }
          statement: { at: /sql, as: sql }
        version: { tool: schema_version, arguments: { environment: { at: /environment } }, read: /structuredContent/version }
        reversible: with-effort
        secrets: ${JSON.stringify(variant.secrets ?? [])}
${variant.preview === true ? PREVIEW : ''}${outcomeOf(variant)}
      send_mail:
        timeout: ${variant.timeout ?? '30s'}
        material:
          to: { at: /to, as: text }
access:
${variant.access ?? ACCESS}
rules:
${variant.rules ?? standardRule({ bind, quorum, validity, escalateAfter, deadline, selfApproval: variant.selfApproval ?? false })}
${variant.moreRules ?? ''}`;
}

const PREVIEW = `        preview: { tool: plan_migration, show: diff }
        state: { tool: read_rows, arguments: { table: { value: orders } } }
`;

function outcomeOf({ settleAfter = '10s', budget = '5m', timeout = '30s', idempotent = false }: PolicyVariant): string {
  return `        outcome:
          tool: find_migration
          arguments: { operation_id: { fill: operationId } }
          executed: { at: /structuredContent/applied, equals: true }
          authoritative: true
          settleAfter: ${settleAfter}
          budget: ${budget}
        idempotent: ${String(idempotent)}
        timeout: ${timeout}`;
}

interface StandardRule {
  readonly bind: string;
  readonly quorum: number;
  readonly validity: string;
  readonly escalateAfter: string;
  readonly deadline: string;
  readonly selfApproval: boolean;
}

function standardRule({ bind, quorum, validity, escalateAfter, deadline, selfApproval }: StandardRule): string {
  return `  - id: production-migrations
    server: orders-db
    scope: { tools: [apply_migration, delete_rows, send_mail] }
    approvers: { groups: [dba], quorum: ${quorum} }
    selfApproval: ${String(selfApproval)}
    bind: ${bind}
    validity: ${validity}
    escalate: [ { after: ${escalateAfter}, to: { groups: [dba-leads] } } ]
    deadline: ${deadline}`;
}
