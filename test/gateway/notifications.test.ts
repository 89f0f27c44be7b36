import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readMessage } from '../../gateway/wire/read-message';
import { applyPolicyText } from '../support/gateway-policy';
import { startGatewayStage, type GatewayStage } from '../support/gateway-stage';

/** A server that carries out whatever it gets, with an id or without: JSON-RPC lets it. */
const effects: string[] = [];
const upstream = createServer((req, res) => void answer(req, res));

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of req) text += String(chunk);
  const message = JSON.parse(text) as { method: string; id?: number };
  if (message.method === 'tools/call') effects.push(text);
  if (message.id === undefined) {
    res.writeHead(202).end();
    return;
  }
  const tools = [{ name: 'pay', inputSchema: { type: 'object' } }];
  const result = message.method === 'tools/list' ? { tools } : { content: [] };
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
}

describe('a call of a tool that is sent as a notification', () => {
  let stage: GatewayStage;
  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    stage = await startGatewayStage();
    await applyPolicyText(
      stage,
      `trust: namespace
people: { r1: { groups: [dba] } }
servers:
  odd: { http: { url: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp' } }
access:
  - { subjects: ['*'], agents: ['*'], server: odd, tools: ['*'] }
rules:
  - { id: all, server: odd, scope: all, approvers: { groups: [dba] }, deadline: { after: 30m, then: expire } }
`,
    );
  }, 60_000);
  afterAll(async () => {
    await stage.close();
    upstream.close();
    upstream.closeAllConnections();
  });

  const post = (message: object) =>
    fetch(`${stage.gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stage.token('u1')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const params = { name: 'pay', arguments: { to: 'acme' } };

  it('reaches no server, whatever the server would do with it [BYPASS-2]', async () => {
    const refused = await post({ method: 'tools/call', params });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('tools/call is a request: send it with an id');
    expect(effects).toEqual([]);
    expect((await post({ id: 1, method: 'tools/call', params })).status).toBe(200);
    expect(effects).toEqual([]);
  });

  it.each(['tools/call', 'tasks/get', 'tasks/result', 'tasks/cancel'])('%s is no notification', (method) => {
    expect(readMessage(JSON.stringify({ jsonrpc: '2.0', method }))).toMatchObject({ ok: false, code: -32600 });
  });

  it('while notifications of the protocol are', () => {
    const text = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}';
    expect(readMessage(text)).toMatchObject({ ok: true, message: { kind: 'notification' } });
  });
});
