/** Requests and decisions name these. */
export const SERVER = 'orders-db';
export const ASKED_TOOL = 'apply_migration';
export const FREE_TOOL = 'read_rows';
export const WINDOW_TOOL = 'post_note';
export const REVIEWER = 'dana';

/** Further reviewers, who only look on. */
export const WATCHERS = Array.from({ length: 10 }, (_, nr) => `watcher-${nr}`);

/** A real server on stdio, of which nobody asks about any tool. */
export const EVERYTHING = 'everything';
export const EVERYTHING_FILE = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** A tool that a rule asks about each time, one that it asks about once for many calls, and one that none does, as in the worked example; the deadline outlives the run. */
export function benchPolicy(toolUrl: string): string {
  return `trust: namespace
people:
  ${REVIEWER}: { groups: [dba] }
${WATCHERS.map((name) => `  ${name}: { groups: [dba] }`).join('\n')}
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
      ${WINDOW_TOOL}: { material: { text: { at: /text, as: text } } }
  ${EVERYTHING}:
    stdio: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(EVERYTHING_FILE)}] }
access:
  - { subjects: ['*'], agents: ['*'], server: ${SERVER}, tools: ['*'] }
  - { subjects: ['*'], agents: ['*'], server: ${EVERYTHING}, tools: ['*'] }
rules:
  - id: production-migrations
    server: ${SERVER}
    scope: { tools: [${ASKED_TOOL}] }
    when: { environment: { is: production } }
    approvers: { groups: [dba], quorum: 1 }
    bind: material
    validity: once
    deadline: { after: 12h, then: expire }
  - id: notes
    server: ${SERVER}
    scope: { tools: [${WINDOW_TOOL}] }
    approvers: { groups: [dba], quorum: 1 }
    bind: tool
    validity: { uses: 10000, minutes: 600 }
    deadline: { after: 12h, then: expire }
`;
}
