import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { PermitKeys } from '../../client/tool';
import { takeFault } from './fault';
import { OrdersDatabase } from './orders-database';
import { databasePath, seed } from './seed';
import { createOrdersServer } from './tools';
import type { ToolContext } from './tools';

export interface ExampleServerOptions {
  /** Where the databases, `calls.jsonl` and the file of the next fault are. */
  readonly dataDir: string;
  /** 0: any free one. */
  readonly port: number;
  readonly keys?: PermitKeys | undefined;
  readonly serverName?: string | undefined;
}

export interface ExampleServer {
  /** The MCP endpoint. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the example's MCP server on loopback, over databases that it creates where there are none. */
export async function startExampleServer(options: ExampleServerOptions): Promise<ExampleServer> {
  const { dataDir, port, keys, serverName = 'orders-db' } = options;
  seed(dataDir);
  const databases = {
    staging: new OrdersDatabase(databasePath(dataDir, 'staging')),
    production: new OrdersDatabase(databasePath(dataDir, 'production')),
  };
  const received = (tool: string, args: unknown): Promise<void> =>
    appendFile(join(dataDir, 'calls.jsonl'), `${JSON.stringify({ atMs: Date.now(), tool, arguments: args })}\n`);
  const http = createServer((request, response) => {
    const hangUp = (): void => void response.destroy();
    const context = { databases, received, takeFault: () => takeFault(dataDir), hangUp, keys, serverName };
    serve(context, request, response).catch(() => response.destroy());
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    async close() {
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
      databases.staging.close();
      databases.production.close();
    },
  };
}

async function serve(context: ToolContext, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== '/mcp') {
    response.writeHead(404).end();
    return;
  }
  if (request.method !== 'POST') {
    // Without sessions there is nothing to listen to and nothing to end.
    response.writeHead(405, { allow: 'POST' }).end();
    return;
  }
  const server = createOrdersServer(context);
  const transport = new StreamableHTTPServerTransport();
  response.on('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

/**
 * Environment: EXAMPLE_PORT (4100), EXAMPLE_DATA_DIR (.holdpoint/example), HOLDPOINT_JWKS (address or file of the keys
 * that sign permits; without it no migration is accepted).
 */
async function main(): Promise<void> {
  const { env } = process;
  const server = await startExampleServer({
    dataDir: resolve(env['EXAMPLE_DATA_DIR'] ?? '.holdpoint/example'),
    port: Number(env['EXAMPLE_PORT'] ?? 4100),
    keys: env['HOLDPOINT_JWKS'],
  });
  console.log(`orders-db listens at ${server.url}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close());
}

if (require.main === module) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
