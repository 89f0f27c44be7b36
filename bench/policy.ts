/** Requests and decisions name these. */
export const SERVER = 'orders-db';
export const ASKED_TOOL = 'apply_migration';
export const FREE_TOOL = 'read_rows';
export const REVIEWER = 'dana';

/** One tool that a rule asks about and one that none does, as in the worked example; the deadline outlives the run. */
export function benchPolicy(toolUrl: string): string {
  return `trust: namespace
people:
  ${REVIEWER}: { groups: [dba] }
servers:
  ${SERVER}:
    http: { url: '${toolUrl}' }
    tools:
      ${FREE_TOOL}: { destructive: false }
      ${ASKED_TOOL}:
        arguments: { operation_id: { fill: operationId } }
        material:
          environment: { at: /environment, as: text }
          statement: { at: /sql, as: sql }
        reversible: with-effort
access:
  - { subjects: ['*'], agents: ['*'], server: ${SERVER}, tools: ['*'] }
rules:
  - id: production-migrations
    server: ${SERVER}
    scope: { tools: [${ASKED_TOOL}] }
    when: { environment: { is: production } }
    approvers: { groups: [dba], quorum: 1 }
    bind: material
    validity: once
    deadline: { after: 12h, then: expire }
`;
}
