import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Fault } from './fault';
import { mayMigrate } from './may-migrate';
import type { MigrationRules } from './may-migrate';
import type { OrdersDatabase } from './orders-database';
import { ENVIRONMENTS } from './seed';
import type { Environment } from './seed';

/** What the tools work with, for one HTTP request. */
export interface ToolContext extends MigrationRules {
  readonly databases: Readonly<Record<Environment, OrdersDatabase>>;
  /** Writes the call down before anything else happens. */
  readonly received: (tool: string, args: unknown) => Promise<void>;
  readonly takeFault: () => Promise<Fault | undefined>;
  /** Closes the connection of this request. */
  readonly hangUp: () => void;
}

const environment = z.enum(ENVIRONMENTS);
const READS = { readOnlyHint: true, openWorldHint: false };

/** The MCP server of one request: it keeps nothing between requests, so a restart loses nothing. */
export function createOrdersServer(context: ToolContext): McpServer {
  const server = new McpServer({ name: 'orders-db', version: '1.0.0' });
  registerSchemaTools(server, context);
  registerMigrationTools(server, context);
  server.registerTool(
    'read_rows',
    {
      title: 'Read rows',
      description: 'Reads the first rows of a table.',
      inputSchema: z.strictObject({ environment, table: z.string(), limit: z.int().min(1).max(100).optional() }),
      annotations: READS,
    },
    async (args) => {
      await context.received('read_rows', args);
      const rows = context.databases[args.environment].read(args.table, args.limit ?? 20);
      return rows === undefined ? failure(`there is no table ${args.table}`) : structured({ rows });
    },
  );
  return server;
}

function registerSchemaTools(server: McpServer, { databases, received }: ToolContext): void {
  const inputSchema = z.strictObject({ environment });
  server.registerTool(
    'schema_version',
    {
      title: 'Schema version',
      description: 'Reads the version of an environment’s schema. Each migration moves it by one.',
      inputSchema,
      outputSchema: { version: z.int() },
      annotations: READS,
    },
    async (args) => {
      await received('schema_version', args);
      return structured({ version: databases[args.environment].version() });
    },
  );
  server.registerTool(
    'describe_schema',
    { title: 'Describe the schema', description: 'Lists columns, indexes and rows.', inputSchema, annotations: READS },
    async (args) => {
      await received('describe_schema', args);
      return structured({ ...databases[args.environment].schema() });
    },
  );
  server.registerTool(
    'plan_migration',
    {
      title: 'Plan a migration',
      description: 'Shows what a migration would change. Runs it in a transaction that is taken back.',
      inputSchema: z.strictObject({ environment, sql: z.string() }),
      annotations: READS,
    },
    async (args) => {
      await received('plan_migration', args);
      const plan = await databases[args.environment].plan(args.sql);
      return plan.ok ? text(plan.diff, { diff: plan.diff }) : failure(plan.detail);
    },
  );
}

function registerMigrationTools(server: McpServer, context: ToolContext): void {
  server.registerTool(
    'apply_migration',
    {
      title: 'Apply a migration',
      description: 'Runs SQL against the database of an environment, in one transaction.',
      inputSchema: z.strictObject({ environment, sql: z.string().min(1), operation_id: z.string().min(1) }),
      // The same operation id again gives the recorded result.
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    async (args, { _meta }) => {
      await context.received('apply_migration', args);
      const admission = await mayMigrate(_meta, args, context);
      if (!admission.ok) return failure(`refused: ${admission.detail}`);
      const fault = await context.takeFault();
      if (fault === 'hang') return never();
      try {
        const result = await context.databases[args.environment].apply(args.operation_id, args.sql);
        if (fault === 'commitThenClose') context.hangUp();
        return fault === undefined ? structured({ applied: true, result }) : await never();
      } catch (error) {
        return failure(`not applied: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  );
  server.registerTool(
    'find_migration',
    {
      title: 'Find a migration',
      description: 'Tells whether an operation was applied, by its id.',
      inputSchema: z.strictObject({ operation_id: z.string() }),
      outputSchema: { applied: z.boolean(), environment: environment.nullable(), appliedAt: z.string().nullable() },
      annotations: READS,
    },
    async (args) => {
      await context.received('find_migration', args);
      for (const name of ENVIRONMENTS) {
        const appliedAt = context.databases[name].find(args.operation_id);
        if (appliedAt !== undefined) return structured({ applied: true, environment: name, appliedAt });
      }
      return structured({ applied: false, environment: null, appliedAt: null });
    },
  );
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function structured(structuredContent: Record<string, unknown>): CallToolResult {
  return text(JSON.stringify(structuredContent), structuredContent);
}

function text(words: string, structuredContent: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: words }], structuredContent };
}

function failure(words: string): CallToolResult {
  return { content: [{ type: 'text', text: words }], isError: true };
}
