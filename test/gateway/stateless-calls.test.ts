import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { parsePolicyFile } from '../../core/policy-file';
import { listRequests } from '../../ledger/queries';
import { memberOf } from '../../core/member';
import { eventually } from '../support/eventually';
import { startGatewayStage, type GatewayStage } from '../support/gateway-stage';

/** A server of 2026-07-28 on HTTP, which counts its own effects. */
const effects: string[] = [];

function mcpServer(): McpServer {
  const server = new McpServer({ name: 'modern', version: '1' });
  const inputSchema = z.object({ to: z.string() });
  server.registerTool('pay', { inputSchema }, ({ to }) => {
    effects.push(`pay ${to}`);
    return { content: [{ type: 'text', text: `paid ${to}` }] };
  });
  server.registerTool('deploy', { inputSchema }, ({ to }, context) => {
    const sure = z.object({ sure: z.boolean() });
    if (acceptedContent(context.mcpReq.inputResponses, 'sure', sure)?.sure !== true) {
      const elicit = inputRequired.elicit({ message: `Deploy to ${to}?`, requestedSchema: sure });
      return inputRequired({ inputRequests: { sure: elicit } });
    }
    effects.push(`deploy ${to}`);
    return { content: [{ type: 'text', text: `deployed to ${to}` }] };
  });
  return server;
}

async function serve(): Promise<Server> {
  const handler = createMcpHandler(mcpServer);
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const headers = Object.entries(req.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    );
    const url = `http://127.0.0.1${req.url ?? '/'}`;
    const response = await handler.fetch(
      new Request(url, {
        method: req.method ?? 'GET',
        headers,
        ...(req.method === 'POST' && { body: Buffer.concat(chunks) }),
      }),
    );
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.end(Buffer.from(await response.arrayBuffer()));
  };
  const server = createServer((req, res) => void answer(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('a client and a server of 2026-07-28', () => {
  let stage: GatewayStage;
  let server: Server;
  const clients: Client[] = [];
  beforeAll(async () => {
    server = await serve();
    stage = await startGatewayStage();
    const text = `trust: namespace
people:
  r1: { groups: [dba] }
servers:
  modern:
    http: { url: 'http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp' }
    session: client
access:
  - { subjects: ['*'], agents: ['*'], server: modern, tools: ['*'] }
rules:
  - { id: all, server: modern, scope: all, approvers: { groups: [dba] }, deadline: { after: 30m, then: expire } }
`;
    const parsed = parsePolicyFile(text, 'policy.yaml');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    await stage.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' });
  }, 60_000);
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await stage.close();
    server.closeAllConnections();
    server.close();
  });

  async function client(): Promise<Client> {
    const made = new Client(
      { name: 'modern', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    made.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { sure: true } }));
    const headers = { authorization: `Bearer ${stage.token('u1')}` };
    const url = new URL(`${stage.gateway.url}/mcp/modern`);
    await made.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    expect(made.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    clients.push(made);
    return made;
  }

  const statusOf = (result: { _meta?: unknown }) =>
    memberOf(memberOf(result._meta, 'dev.holdpoint/approval'), 'status');
  const firstOpen = () =>
    eventually(async () => {
      const [record] = await listRequests(stage.store.db);
      if (record === undefined) throw new Error('nothing is open');
      return record;
    });
  const allowAll = async () => {
    await firstOpen();
    for (const { request } of await listRequests(stage.store.db)) await stage.decide(request, 'allow');
  };

  test('a protected call waits, and after the allow the same call runs once', async () => {
    const modern = await client();
    const pay = () => modern.callTool({ name: 'pay', arguments: { to: 'acme' } });
    expect(statusOf(await pay())).toBe('pending');
    expect(effects).not.toContain('pay acme');
    await allowAll();
    const done = await pay();
    expect(statusOf(done)).toBe('approved');
    expect(done.content).toEqual([{ type: 'text', text: 'paid acme' }]);
    expect(effects.filter((effect) => effect === 'pay acme')).toHaveLength(1);
  });

  test('what the client answers a question of the tool with is part of what is approved, and asked about anew', async () => {
    const modern = await client();
    const deploy = () => modern.callTool({ name: 'deploy', arguments: { to: 'production' } });
    expect(statusOf(await deploy())).toBe('pending');
    await allowAll();
    // The tool asks, the client answers by itself, and the call with the answer is another one: it waits.
    expect(statusOf(await deploy())).toBe('pending');
    const record = await firstOpen();
    expect(record.request.context?.session).toMatchObject({
      retry: { inputResponses: { sure: { action: 'accept', content: { sure: true } } } },
    });
    expect(effects).toEqual(['pay acme']);
    await allowAll();
    expect(statusOf(await deploy())).toBe('approved');
    expect(effects).toEqual(['pay acme', 'deploy production']);
  });
});
