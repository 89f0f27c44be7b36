import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { eventually } from '../support/eventually';
import { RawClient, whole } from '../support/gateway-stdio-client';
import { isRunning, openStage } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';

const SERVER = join(__dirname, '../support/gateway-stdio-stateless-server.cjs');
const VERSION = '2026-07-28';
const META = `"io.modelcontextprotocol/protocolVersion":"${VERSION}","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`;

let stage: Stage;
let close: (() => Promise<unknown>)[];
beforeEach(async () => {
  close = [];
  stage = await openStage({ args: [SERVER] });
});
afterEach(async () => {
  await Promise.all(close.map((end) => end()));
  await stage.close();
});

const client = (subject = 'alice') => new RawClient(stage.url, { subject });
const send = (from: RawClient, id: string, method: string, rest = '', meta = '', name?: string) =>
  from.post(`{ "jsonrpc":"2.0","id":${id},"method":"${method}","params":{${rest}"_meta":{${meta}${META}}}}`, {
    ...{ 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method, 'Mcp-Name': name },
  });
const call = (from: RawClient, id: string, name: string, args = '{}', meta = '') =>
  send(from, id, 'tools/call', `"name":"${name}","arguments":${args},`, meta, name);
const textOf = (message: string | undefined) =>
  (JSON.parse(message ?? '{}') as { result: { content: [{ text: string }] } }).result.content[0].text;

async function connect(onChanged: () => void = () => undefined): Promise<Client> {
  const sdk = new Client(
    { name: 'sdk', version: '2' },
    { versionNegotiation: { mode: 'auto' }, listChanged: { tools: { onChanged, autoRefresh: false } } },
  );
  await sdk.connect(new StreamableHTTPClientTransport(stage.url));
  close.push(() => sdk.close());
  return sdk;
}

describe('clients without sessions at a server on stdio', () => {
  it('share one process, and the same id keeps them apart, with its type [SESS-6]', async () => {
    const people = [client('alice'), client('bob'), client('carol')];
    const ids = ['1', '"1"', '0', '1'];
    const answers = await Promise.all(
      people.flatMap((one, n) => ids.slice(n, n + 2).map((id) => whole(call(one, id, 'echo', `{"n":${n}}`)))),
    );
    expect(answers.map(([answer]) => /"id":(.*?)[,}]/.exec(answer ?? '')?.[1])).toEqual([
      '1',
      '"1"',
      '"1"',
      '0',
      '0',
      '1',
    ]);
    expect(answers.map(([answer]) => textOf(answer))).toEqual([
      '{"n":0}',
      '{"n":0}',
      '{"n":1}',
      '{"n":1}',
      '{"n":2}',
      '{"n":2}',
    ]);
    const pids = await Promise.all(people.map((one) => whole(call(one, '1', 'pid'))));
    expect(new Set(pids.map(([answer]) => textOf(answer))).size).toBe(1);
  });

  it('are read as they wrote, but for the id and the progress token', async () => {
    await whole(
      call(client(), '"a\\u0062"', 'echo', '{ "b":0.10,"a":1e2}', '"progressToken":7,"vendor.example/x":1.50,'),
    );
    const own = 'holdpoint-[\\w-]{22}-1';
    expect(stage.linesRead().at(-1)).toMatch(
      new RegExp(
        `^\\{ "jsonrpc":"2.0","id":"${own}","method":"tools/call","params":\\{"name":"echo","arguments":\\{ "b":0.10,"a":1e2\\},"_meta":\\{"progressToken":"${own}","vendor.example/x":1.50,`,
      ),
    );
  });

  it('get each their own progress, under their own token [WIRE-1]', async () => {
    const answers = await Promise.all(
      ['1', '"1"', '1'].map((token, n) =>
        whole(call(client(`p${n}`), '5', 'progress', `{"n":${n + 2}}`, `"progressToken":${token},`)),
      ),
    );
    for (const [n, messages] of answers.entries()) {
      const params = messages.slice(0, -1).map((text) => (JSON.parse(text) as { params: unknown }).params);
      const progressToken = [1, '1', 1][n];
      expect(params).toMatchObject([1, 2].map((progress) => ({ progressToken, progress, total: n + 2 })));
    }
  });

  it('cancel by leaving, which the server hears of under its own id; others go on [WIRE-2]', async () => {
    const [leaving, staying] = [
      await call(client(), '0', 'hang', '{"n":1}'),
      await call(client('bob'), '0', 'hang', '{"n":2}'),
    ];
    leaving.leave();
    await eventually(() =>
      expect(stage.linesRead().filter((line) => line.includes('notifications/cancelled'))).toHaveLength(1),
    );
    expect(stage.linesRead().at(-1)).toMatch(/"requestId":"holdpoint-[\w-]{22}-1"/);
    await whole(call(client(), '1', 'release'));
    await staying.ended;
    expect(textOf(staying.messages[0])).toBe('released 2');
  });

  it('hear what they subscribed to, under the id of that request', async () => {
    const listen = (from: RawClient, id: string) =>
      send(from, id, 'subscriptions/listen', '"notifications":{"toolsListChanged":true},');
    const all = [await listen(client(), '1'), await listen(client('bob'), '"x"')];
    await eventually(() => expect(all.map(({ messages }) => messages.length)).toEqual([1, 1]));
    await whole(call(client(), '2', 'changed'));
    await eventually(() => expect(all.map(({ messages }) => messages.length)).toEqual([2, 2]));
    for (const [n, { messages }] of all.entries()) {
      for (const message of messages) {
        expect(message).toContain(`"io.modelcontextprotocol/subscriptionId":${['1', '"x"'][n] ?? ''}`);
      }
      expect(messages[1]).toContain('notifications/tools/list_changed');
    }
  });

  it('all hear at once that the process ended in mid-call; the next request starts another', async () => {
    const hanging = [await call(client(), '1', 'hang'), await call(client('bob'), '1', 'hang')];
    const start = performance.now();
    await whole(call(client(), '2', 'die'));
    await Promise.all(hanging.map(({ ended }) => ended));
    expect(performance.now() - start).toBeLessThan(500);
    for (const { messages } of hanging) expect(messages[0]).toContain('"id":1,"error":{"code":-32000');
    expect(textOf((await whole(call(client(), '3', 'pid')))[0])).toContain('pid');
  });

  it('leave a process that ends when it was idle for long enough', async () => {
    await stage.close();
    stage = await openStage({ args: [SERVER], limits: { idleMs: 50 } });
    const pidNow = async () => Number(/[0-9]+/.exec(textOf((await whole(call(client(), '1', 'pid')))[0]))?.[0]);
    const pid = await pidNow();
    await eventually(() => expect(isRunning(pid)).toBe(false));
    expect(await pidNow()).not.toBe(pid);
  });

  it('are judged by the gate, whose results say that they are whole', async () => {
    stage.gate.say = () => ({ kind: 'result', result: { content: [] }, delivered: () => undefined });
    expect(await whole(call(client('bob'), '1.0', 'echo'))).toEqual([
      '{"jsonrpc":"2.0","id":1.0,"result":{"resultType":"complete","content":[]}}',
    ]);
    const [judged] = stage.gate.judged;
    expect(judged?.session).toMatchObject({
      clientName: 'raw',
      revision: VERSION,
      requester: { subject: 'bob' },
      roots: null,
    });
    const reply = await judged?.session.request({
      ...{ method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } }, timeoutMs: 5_000, repeatable: false },
    });
    expect(reply).toMatchObject({ kind: 'result', result: { content: [{ text: '{"a":1}' }] } });
  });

  it('leave a call that the gate judges, and it is not sent [WIRE-4]', async () => {
    let go: () => void = () => undefined;
    stage.gate.say = () => new Promise((resolve) => (go = () => resolve({ kind: 'pass' })));
    const waiting = await call(client(), '1', 'echo');
    waiting.leave();
    await eventually(() => expect(stage.gate.judged[0]?.signal.aborted).toBe(true));
    go();
    stage.gate.say = () => ({ kind: 'pass' });
    await whole(call(client(), '2', 'pid'));
    expect(stage.linesRead().filter((line) => line.includes('"name":"echo"'))).toEqual([]);
  });

  it.each([
    ['another method in the header [BYPASS-3]', { 'Mcp-Method': 'ping' }, 400, -32020],
    ['another tool in the header [BYPASS-3]', { 'Mcp-Name': 'pid' }, 400, -32020],
    ['another revision in the header', { 'MCP-Protocol-Version': '2025-06-18' }, 400, -32020],
  ])('are refused for %s', async (_, headers, status, code) => {
    const answer = await client().post(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{${META}}}}`,
      { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo', ...headers },
    );
    await answer.ended;
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.messages[0] ?? '')).toMatchObject({ id: 1, error: { code } });
  });

  it('are told by HTTP too that there is no such method', async () => {
    expect((await send(client(), '1', 'no/such')).status).toBe(404);
  });

  it('are told to begin with initialize where the server needs that, and the SDK then does', async () => {
    await stage.close();
    stage = await openStage();
    const refused = await send(client(), '1', 'server/discover');
    await refused.ended;
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.messages[0] ?? '')).toMatchObject({
      error: { code: -32022, data: { supported: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] } },
    });
    const sdk = await connect();
    expect((await sdk.listTools()).tools.map(({ name }) => name)).toContain('echo');
  });
});

describe('the v2 client of the SDK', () => {
  it('speaks 2026-07-28 through the gateway', async () => {
    const changes: string[] = [];
    const [one, other] = [await connect(() => changes.push('one')), await connect(() => changes.push('other'))];
    expect(one.getNegotiatedProtocolVersion()).toBe(VERSION);
    expect((await one.listTools()).tools.map(({ name }) => name)).toContain('echo');
    const said = await one.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(said.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    await other.callTool({ name: 'changed', arguments: {} });
    await eventually(() => expect(new Set(changes)).toEqual(new Set(['one', 'other'])));
    const cancelling = new AbortController();
    const hanging = one.callTool({ name: 'hang', arguments: {} }, { signal: cancelling.signal });
    await eventually(() => expect(stage.linesRead().some((line) => line.includes('"hang"'))).toBe(true));
    cancelling.abort();
    await expect(hanging).rejects.toThrow();
    await eventually(() => expect(stage.linesRead().some((line) => line.includes('cancelled'))).toBe(true));
  });
});
