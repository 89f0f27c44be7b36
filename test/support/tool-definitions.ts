import type { JsonObject } from '../../core/json';
import type { ReceivedCall } from './tool-server';

/** The tools that have an effect; the others only read. */
export const WRITING_TOOLS: readonly string[] = ['delete_rows', 'apply_migration', 'send_mail'];

const text = { type: 'string' };

function input(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The tools as they are listed. `send_mail` carries no hints, as many real tools do. */
export const TOOL_DEFINITIONS: readonly JsonObject[] = [
  {
    name: 'read_rows',
    description: 'Reads rows of a table.',
    inputSchema: { type: 'object', properties: { table: text, limit: { type: 'integer' } } },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'delete_rows',
    description: 'Deletes rows by id.',
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'integer' }, soft: { type: 'boolean' } },
      required: ['id'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
  {
    name: 'apply_migration',
    title: 'Apply a migration',
    description: 'Runs SQL against the schema of an environment.',
    inputSchema: input(
      {
        environment: text,
        sql: text,
        operation_id: text,
        password: text,
        trace_id: text,
        confirm: { type: 'boolean' },
      },
      ['environment', 'sql', 'operation_id'],
    ),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  },
  {
    name: 'find_migration',
    description: 'Tells whether an operation was applied.',
    inputSchema: input({ operation_id: text }, ['operation_id']),
    outputSchema: { type: 'object', properties: { applied: { type: 'boolean' } }, required: ['applied'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'schema_version',
    description: 'Reads the version of the schema.',
    inputSchema: input({ environment: text }, []),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'plan_migration',
    description: 'Shows what a migration would change.',
    inputSchema: input({ environment: text, sql: text, operation_id: text }, ['sql']),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'send_mail',
    description: 'Sends a mail. Sent mails cannot be looked up.',
    inputSchema: { type: 'object', properties: { to: text, subject: text, body: text }, required: ['to'] },
  },
];

/** What the tools know when they answer. */
export interface ToolState {
  readonly version: number;
  readonly rows: readonly JsonObject[];
  readonly ran: (operationId: unknown) => ReceivedCall | undefined;
}

/** The answer of a tool that works. */
export function answerOf(call: ReceivedCall, { version, rows, ran }: ToolState) {
  switch (call.tool) {
    case 'read_rows':
      return structured({ rows });
    case 'schema_version':
      return structured({ version });
    case 'plan_migration':
      return structured({ diff: `+ ${JSON.stringify(call.arguments['sql'])}` });
    case 'find_migration':
      return structured({ applied: ran(call.arguments['operation_id']) !== undefined });
    default:
      return structured({ done: true, tool: call.tool });
  }
}

function structured(structuredContent: JsonObject) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }], structuredContent };
}
