import { applyGatewayPolicy } from '../support/gateway-policy';
import { callText, openRequest, rawClient } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { pendingApproval } from '../../client';
import { whole } from '../support/gateway-stdio-client';
import { eventually } from '../support/eventually';
import { eventOf, openStream, sendJson, startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';

const SCHEMA = { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] };
const input = { type: 'object' };
const TOOLS: readonly Record<string, unknown>[] = [
  { name: 'plain', inputSchema: input },
  { name: 'rows', inputSchema: input, outputSchema: SCHEMA },
  {
    ...{ name: 'rich', title: 'Rich', 'vendor.example/x': { deep: [1, null] }, inputSchema: input },
    ...{ annotations: { readOnlyHint: true, 'x-own': 'kept' }, _meta: { 'vendor.example/y': true } },
  },
  { name: 'gated', inputSchema: input, outputSchema: SCHEMA, annotations: {} },
  { name: 'broken', inputSchema: input, outputSchema: { type: 'objekt' } },
  ...['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, inputSchema: input })),
];
const PAGE = 6;

let stage: GatewayStage;
let upstream: RawMcpServer;
let notify: (() => void) | undefined;
let inStream = false;
const results: Record<string, unknown> = {
  rows: { content: [], structuredContent: { rows: 3 }, _meta: { 'vendor.example/x': 'y' } },
  plain: { content: [{ type: 'text', text: 'plain' }] },
  gated: { content: [], structuredContent: { rows: 4 }, _meta: { 'vendor.example/x': 'z' } },
};
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
  upstream = await startRawMcpServer(({ verb, message }, response) => {
    if (verb === 'GET') {
      openStream(response).flushHeaders();
      notify = () =>
        response.write('event: message\n' + eventOf({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
      return true;
    }
    const { id, method, params } = message ?? {};
    const answer = (result: unknown): true => {
      if (!inStream) return sendJson(response, { jsonrpc: '2.0', id, result });
      // With its length, as some servers send a stream that is over at once.
      const event = `event: message\n${eventOf({ jsonrpc: '2.0', id, result })}`;
      response.setHeader('content-length', Buffer.byteLength(event));
      openStream(response).end(event);
      return true;
    };
    if (method === 'tools/list') {
      const at = Number(params?.['cursor'] ?? 0);
      const tools = TOOLS.slice(at, at + PAGE);
      return answer(at + PAGE < TOOLS.length ? { tools, nextCursor: String(at + PAGE) } : { tools });
    }
    if (method !== 'tools/call') return false;
    const result = results[String(params?.['name'])];
    return result !== undefined && answer(result);
  });
  await applyGatewayPolicy(stage, {
    servers: { raw: { url: upstream.url, tools: '{ gated: {}, broken: {} }' } },
    ...{ scope: '{ tools: [gated, broken] }', bind: 'arguments' },
  });
});
afterAll(async () => {
  await stage.close();
  await upstream.close();
});
beforeEach(() => {
  inStream = false;
});

/** As bare JSON: a client of the SDK drops what it does not know. */
const listed = async (): Promise<readonly Record<string, unknown>[]> => {
  const client = await rawClient(stage, { server: 'raw' });
  const tools: Record<string, unknown>[] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? '{}' : JSON.stringify({ cursor });
    const text = (await whole(client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${params}}`))).at(-1);
    const page = JSON.parse(text?.replace(/^data: /, '') ?? '') as {
      result: { tools: typeof tools; nextCursor?: string };
    };
    tools.push(...page.result.tools);
    cursor = page.result.nextCursor;
  } while (cursor !== undefined);
  return tools;
};

describe.each([false, true])('a list of two pages (as a stream: %s)', (asStream) => {
  beforeEach(() => {
    inStream = asStream;
  });

  it('holds every tool once, and again after a change notice [LIST-1]', async () => {
    const names = TOOLS.map(({ name }) => name);
    expect((await listed()).map((tool) => tool['name'])).toEqual(names);
    const client = await rawClient(stage, { server: 'raw' });
    const stream = await client.get();
    notify?.();
    await eventually(() => expect(stream.messages).toHaveLength(1));
    expect((await listed()).map((tool) => tool['name'])).toEqual(names);
    stream.leave();
  });

  it('keeps annotations, titles and vendor keys, and invents none [LIST-5]', async () => {
    const tools = await listed();
    for (const name of ['plain', 'rows', 'rich', 'a']) {
      expect(tools.find((tool) => tool['name'] === name)).toEqual(TOOLS.find((tool) => tool['name'] === name));
    }
    expect(tools.find(({ name }) => name === 'plain')).not.toHaveProperty('annotations');
    expect(tools.find(({ name }) => name === 'gated')?.['annotations']).toEqual({});
  });

  it('is whole where one schema is broken: if gated, that tool stands there without its schema [LIST-7]', async () => {
    const tools = await listed();
    expect(tools).toHaveLength(10);
    const broken = tools.find(({ name }) => name === 'broken');
    expect(broken).toEqual({ name: 'broken', inputSchema: input });
    const client = await stage.client({ server: 'raw' });
    await client.listTools();
    const waiting = await client.callTool({ name: 'broken', arguments: {} });
    expect(pendingApproval(waiting)?.status).toBe('pending');
  });

  it('has a result with both content and structured content [LIST-3]', async () => {
    const client = await stage.client({ server: 'raw' });
    await client.listTools();
    const result = await client.callTool({ name: 'rows', arguments: {} });
    expect(result).toEqual({ content: [], structuredContent: { rows: 3 }, _meta: { 'vendor.example/x': 'y' } });
  });

  it.each([['rows'], ['gated']])(
    'and an error of %s without structured content arrives as sent [LIST-4]',
    async (tool) => {
      const before = results[tool];
      const error = { isError: true, content: [{ type: 'text', text: 'no such table' }] };
      results[tool] = error;
      const client = await stage.client({ server: 'raw' });
      await client.listTools();
      const given = { [asStream ? 's' : 'j']: 'error' };
      const first = await client.callTool({ name: tool, arguments: given });
      const waiting = pendingApproval(first);
      if (waiting !== null) await stage.decide(await openRequest(stage, waiting.operationId), 'allow');
      const result = await eventually(async () => {
        const each = await client.callTool({ name: tool, arguments: given });
        if (pendingApproval(each) !== null) throw new Error('still pending');
        return each;
      });
      expect(result).toMatchObject(error);
      expect(result['structuredContent']).toBeUndefined();
      results[tool] = before;
    },
  );
});

describe('metadata', () => {
  it('of a call and of its result pass both ways, beside the key of Holdpoint [LIST-6]', async () => {
    const client = await stage.client({ server: 'raw' });
    const meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'vendor.example/in': 1 };
    const free = await callTool(client, 'rows', {}, meta);
    expect(free._meta).toEqual({ 'vendor.example/x': 'y' });
    const { operationId } = approvalOf(await callTool(client, 'gated', { meta: 1 }, meta));
    await stage.decide(await openRequest(stage, operationId), 'allow');
    const done = await eventually(async () => {
      const result = await callTool(client, 'gated', { meta: 1 }, meta);
      if (pendingApproval(result) !== null) throw new Error('still pending');
      return result;
    });
    expect(done._meta).toMatchObject({ 'vendor.example/x': 'z', 'dev.holdpoint/approval': { status: 'approved' } });
    const sent = upstream.requests.filter(({ message }) => message?.method === 'tools/call');
    const last = (tool: string) => sent.findLast(({ message }) => message?.params?.['name'] === tool)?.message?.params;
    expect(last('rows')?.['_meta']).toEqual(meta);
    // What is bound by nothing does not go along with what was approved; a trace does no harm.
    expect(last('gated')?.['_meta']).toEqual({
      traceparent: meta.traceparent,
      'dev.holdpoint/operation': operationId,
      'dev.holdpoint/permit': expect.any(String) as string,
    });
  });
});

describe.each([false, true])('what an upstream claims under the key of Holdpoint (as a stream: %s)', (asStream) => {
  const claim = { status: 'pending', operationId: 'op_x', version: 1 };

  it.each([
    ['plainly', '"dev.holdpoint/approval"'],
    ['escaped', '"dev.h\\u006fldpoint\\/approval"'],
  ])('%s, in a result that nobody asked about, is not taken for ours; all else keeps its bytes', async (_, key) => {
    const body = (id: string) =>
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"dev.holdpoint/approval"}],"_meta":{"a":1.0,${key}:${JSON.stringify(claim)},"b":9007199254740993}}}`;
    const server = await startRawMcpServer(({ message }, response) => {
      if (message?.method !== 'tools/call') return false;
      const text = body(String(message.id));
      if (asStream) openStream(response).end(`data: ${text}\n\n`);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return true;
    });
    await applyGatewayPolicy(stage, { servers: { claims: { url: server.url, tools: '{}' } }, rules: '  []' });
    const client = await stage.client({ server: 'claims' });
    const result = await callTool(client, 'act', {});
    expect(pendingApproval(result)).toBeNull();
    expect(result._meta?.['dev.holdpoint/approval']).toBeUndefined();
    expect(textOf(result)).toBe('dev.holdpoint/approval');
    const raw = await rawClient(stage, { server: 'claims' });
    const response = await raw.post(callText(8, 'act', {}));
    await response.ended;
    if (!asStream) {
      expect(response.messages).toEqual([
        '{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"dev.holdpoint/approval"}],"_meta":{"a":1.0,"b":9007199254740993}}}',
      ]);
    }
    await server.close();
  });
});

describe('a client that listed its tools before the policy changed', () => {
  const policy = (tools: string) =>
    applyGatewayPolicy(stage, {
      servers: { raw: { url: upstream.url, tools: '{ gated: {}, rows: {} }' } },
      ...{ scope: `{ tools: [${tools}] }`, bind: 'arguments' },
    });

  it('is told with its first call that waits to list them anew, and only then', async () => {
    await policy('gated');
    const client = await rawClient(stage, { server: 'raw' });
    await whole(client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    const ask = async (n: number) => (await whole(client.post(callText(n, 'rows', { before: n })))).join('\n');
    const changed = 'notifications/tools/list_changed';
    expect(await ask(1)).toContain('"rows":3');
    await policy('gated, rows');
    const first = await ask(2);
    expect(first.indexOf(changed)).toBeGreaterThan(-1);
    expect(first.indexOf(changed)).toBeLessThan(first.indexOf('NOT EXECUTED'));
    const second = await ask(3);
    expect(second).toContain('NOT EXECUTED');
    expect(second).not.toContain(changed);
    await whole(client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    expect(await ask(4)).not.toContain(changed);
    expect(upstream.requests.filter(({ message }) => JSON.stringify(message ?? null).includes('"before":2'))).toEqual(
      [],
    );
  });
});
