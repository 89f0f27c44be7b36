import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { freePort } from '../../worker/free-port';
import { nowNs } from '../clock';

/** A real MCP server whose tools do nothing but note when they were called; `/effects` answers how often. */
const TOOLS = [
  {
    name: 'read_rows',
    description: 'Reads rows of a table.',
    inputSchema: { type: 'object' as const, properties: { table: { type: 'string' } } },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'post_note',
    description: 'Posts a note.',
    inputSchema: { type: 'object' as const, properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
  {
    name: 'apply_migration',
    description: 'Runs SQL against the schema of an environment.',
    inputSchema: {
      type: 'object' as const,
      properties: { environment: { type: 'string' }, sql: { type: 'string' }, operation_id: { type: 'string' } },
      required: ['environment', 'sql', 'operation_id'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
];

const sessions = new Map<string, StreamableHTTPServerTransport>();
let effects = 0;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/effects') {
    response.end(String(effects));
    return;
  }
  const known = sessions.get(String(request.headers['mcp-session-id']));
  await (known ?? (await openSession())).handleRequest(request, response);
}

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  const { server } = new McpServer({ name: 'bench', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(CallToolRequestSchema, () => {
    const structuredContent = { atNs: nowNs().toString() };
    effects += 1;
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  });
  await server.connect(transport);
  return transport;
}

async function main(): Promise<void> {
  const port = await freePort();
  createServer((request, response) => void handle(request, response)).listen(port, '127.0.0.1', () => {
    console.log(`ready http://127.0.0.1:${port}`);
  });
}

void main();
