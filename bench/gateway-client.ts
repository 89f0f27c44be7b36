import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { memberOf } from '../core/member';

/** A real MCP client; what every side of a comparison is asked with. */
export interface BenchClient {
  /** One call of a tool, to its result. Throws for an error. */
  call(tool: string, given: Readonly<Record<string, unknown>>): Promise<BenchResult>;
  close(): Promise<void>;
}

export interface BenchResult {
  /** What a gateway says of a protected call; undefined where it says nothing. */
  readonly status: string | undefined;
  readonly operationId: string | undefined;
}

function textOf(value: unknown, name: string): string | undefined {
  const found = memberOf(value, name);
  return typeof found === 'string' ? found : undefined;
}

export async function benchClient(url: string, token?: string): Promise<BenchClient> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return clientOver(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
}

/** A client of a server that it starts itself. */
export function stdioClient(file: string): Promise<BenchClient> {
  return clientOver(new StdioClientTransport({ command: process.execPath, args: [file], stderr: 'ignore' }));
}

async function clientOver(transport: Transport): Promise<BenchClient> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(transport);
  return {
    async call(name, given) {
      const { isError, _meta } = await client.callTool({ name, arguments: { ...given } });
      if (isError === true) throw new Error(`${name} failed`);
      const approval = memberOf(_meta, 'dev.holdpoint/approval');
      return { status: textOf(approval, 'status'), operationId: textOf(approval, 'operationId') };
    },
    close: () => client.close(),
  };
}
