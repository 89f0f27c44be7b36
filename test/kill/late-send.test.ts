import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { startHarness, type Harness } from '../support/harness';

/** Longer than the 5 s in which a call has to begin after its operation was written. */
const SLOW_MS = 6_000;

/** A tool server that forgot its sessions and takes its time to open new ones. */
async function startSlowServer(port: number, called: unknown[]): Promise<Server> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { id, method, params } = body as { id?: number; method?: string; params?: { protocolVersion?: string } };
      const answer = (result: object) => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'new' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      };
      if (method === 'initialize') {
        const { protocolVersion } = params ?? {};
        const opened = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } };
        setTimeout(() => answer(opened), SLOW_MS);
      } else if (request.headers['mcp-session-id'] !== 'new') response.writeHead(404).end();
      else if (id === undefined) response.writeHead(202).end();
      else {
        called.push(body);
        answer({ content: [] });
      }
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as unknown);
}

describe('a call whose connection comes too late', () => {
  let harness: Harness;
  let slow: Server | undefined;
  const called: unknown[] = [];

  beforeAll(async () => {
    harness = await startHarness({
      onStep: async (step) => {
        if (step !== 'afterTransaction') return;
        await harness.tools.stop();
        slow = await startSlowServer(Number(new URL(harness.tools.url).port), called);
      },
    });
  }, 30_000);
  afterAll(async () => {
    slow?.closeAllConnections();
    slow?.close();
    await harness.close();
  });

  test('is not sent any more: its lease counts from the transaction, and nobody looks for it after that [EXEC-09]', async () => {
    const mail = { id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'ops@example.org' } };
    const turn = await harness.start([mail]);
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    expect((await turn.results())[0]).toMatchObject({ outcome: 'failed', end: { evidence: 'notSent' } });
    expect(called).toEqual([]);
    expect(harness.tools.receivedBy('send_mail')).toEqual([]);
  });
});
