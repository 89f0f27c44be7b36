import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { runStdioBridge } from '../../gateway/stdio/bridge';
import { eventually } from '../support/eventually';
import { startDirect } from '../support/gateway-stdio-client';
import type { Direct } from '../support/gateway-stdio-client';
import { ODD_SERVER, isRunning, openStage } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';
import { recordedLog } from '../support/recorded-log';

interface Bridged {
  readonly lines: string[];
  readonly ended: Promise<void>;
  send(line: string): void;
  /** Sends a line and gives what came since, once a message with this in it did. */
  ask(line: string, part: string): Promise<readonly string[]>;
  closeInput(): void;
}

function bridge(url: URL, token = 'token'): Bridged {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines: string[] = [];
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  const ended = runStdioBridge({ url, token, input, output, log: recordedLog() });
  const send = (line: string): void => void input.write(`${line}\n`);
  return {
    ...{ lines, ended, send },
    async ask(line, part) {
      const from = lines.length;
      send(line);
      return eventually(() => {
        const since = lines.slice(from);
        expect(since.some((text) => text.includes(part))).toBe(true);
        return since;
      });
    },
    closeInput: () => void input.end(),
  };
}

const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}';
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const call = (name: string, id = '7', args = '{}', rest = '') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}${rest}}}`;
const errorOf = (line: string | undefined) => (JSON.parse(line ?? '{}') as { error?: unknown }).error;

let stage: Stage;
let open: Bridged[];
const bridged = async () => {
  const one = bridge(stage.url);
  open.push(one);
  await one.ask(INITIALIZE, '"id":0');
  one.send(INITIALIZED);
  return one;
};
beforeEach(async () => {
  open = [];
  stage = await openStage();
});
afterEach(async () => {
  for (const one of open) one.closeInput();
  await Promise.all(open.map(({ ended }) => ended));
  await stage.close();
});

describe('the bridge for clients that start a command', () => {
  let direct: Direct;
  beforeEach(() => (direct = startDirect([ODD_SERVER])));
  afterEach(() => direct.close());

  it.each([
    ['initialize', INITIALIZE, 0],
    ['a list [LIST-5]', '{"jsonrpc":"2.0","id":7,"method":"tools/list"}', 7],
    ['numbers that JavaScript cannot hold', call('odd'), 7],
    ['an error [WIRE-6]', call('fail'), 7],
    ['a character that is split over two chunks [WIRE-5]', call('split'), 7],
    ['progress before the answer', call('progress', '7', '{}', ',"_meta":{"progressToken":"é"}'), 7],
    [
      'what it was sent itself',
      `{ "id":"7","params":{"arguments":{"a":0.10},"name":"echo"},"method":"tools/call","jsonrpc":"2.0"}`,
      '7',
    ],
  ])('carries %s to the byte', async (_, message, id) => {
    const one = message === INITIALIZE ? bridge(stage.url) : await bridged();
    open.push(one);
    const lines = await direct.ask(id, message);
    const from = one.lines.length;
    await one.ask(message, lines.at(-1) ?? '');
    expect(one.lines.slice(from)).toEqual(lines);
  });

  it('carries what the server asks, and the answer, while the call waits [SESS-5]', async () => {
    const one = await bridged();
    await one.ask(call('ask', '7', '{"askId":0,"method":"elicitation/create"}'), '"id":0,"method"');
    const answer = '{"result":{"n":0.10},"id":0,"jsonrpc":"2.0"}';
    const [last] = await one.ask(answer, '"id":7');
    expect(last).toContain(JSON.stringify(answer).slice(1, -1));
  });

  it('carries what belongs to no request [SESS-4]', async () => {
    const one = await bridged();
    one.send(call('changed'));
    await eventually(() =>
      expect(one.lines).toContain('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
    );
  });

  it('keeps a cancel behind its request, and answers nothing to that [WIRE-2, WIRE-3]', async () => {
    const one = await bridged();
    one.send(call('hang', '0'));
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}';
    one.send(cancel);
    await eventually(() => expect(stage.linesRead()).toContain(cancel));
    one.closeInput();
    await one.ended;
    expect(one.lines).toHaveLength(1);
  });

  it('runs requests side by side, and never mixes lines', async () => {
    const one = await bridged();
    one.send(call('hang', '"held"'));
    const big = 'é'.repeat(100_000);
    for (let id = 1; id <= 20; id += 1) one.send(call('echo', String(id), `{"big":"${big}"}`));
    await eventually(() => expect(one.lines).toHaveLength(21));
    expect(one.lines.map((line) => (JSON.parse(line) as { id: number }).id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 21 }, (__, at) => at),
    );
    await one.ask(call('release', '99'), '"id":99');
    await eventually(() => expect(one.lines.some((line) => line.includes('"held"'))).toBe(true));
  });

  it('ends the session after the answers in flight, when the input ends', async () => {
    const one = await bridged();
    const [said] = await one.ask(call('bare', '1'), '"id":1');
    const pid = Number(/pid ([0-9]+)/.exec(said ?? '')?.[1]);
    one.send(call('slow', '2'));
    one.closeInput();
    await one.ended;
    expect(one.lines.at(-1)).toContain('"id":2,"result"');
    await eventually(() => expect(isRunning(pid)).toBe(false));
  });

  it('takes a last line that the end of the input ends', async () => {
    const one = bridge(stage.url);
    open.push(one);
    one.send(INITIALIZE.slice(0, -1));
    one.closeInput();
    await one.ended;
    expect(errorOf(one.lines[0])).toEqual({
      code: -32600,
      message: 'A line is one JSON-RPC message, and that is an object',
    });
  });

  it('begins anew where the session is gone, and says that the tools may be others', async () => {
    const one = await bridged();
    const [died] = await one.ask(call('die', '1'), '"id":1');
    expect(died).toContain('whether this request ran is not known');
    const since = await one.ask(call('bare', '2'), '"id":2');
    expect(since).toHaveLength(2);
    expect(since[0]).toBe('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    expect(since[1]).toMatch(/"id":2,"result".*pid/);
    expect(stage.linesRead().filter((line) => line === INITIALIZE)).toHaveLength(2);
  });
});

describe('what the bridge says where HTTP fails', () => {
  it('the gateway is not running', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const one = bridge(new URL(`http://127.0.0.1:${port}/mcp/odd`));
    open.push(one);
    const [line] = await one.ask(INITIALIZE, '"id":0');
    expect(errorOf(line)).toEqual({
      code: -32000,
      message: `The gateway at http://127.0.0.1:${port} cannot be reached (connect ECONNREFUSED 127.0.0.1:${port}); nothing was sent. Start it, or correct the address`,
    });
  });

  it('the token is refused', async () => {
    const one = bridge(stage.url, 'stale');
    open.push(one);
    const [line] = await one.ask(INITIALIZE, '"id":0');
    expect(errorOf(line)).toEqual({
      code: -32000,
      message:
        'NOT executed: the gateway refused the token (HTTP 401). Give this command one that is valid, and start it again',
    });
  });

  it('a request comes before initialize, in the words of the gateway', async () => {
    const one = bridge(stage.url);
    open.push(one);
    const [line] = await one.ask(call('bare', '"a"'), '"id":"a"');
    expect(errorOf(line)).toEqual({
      code: -32600,
      message: 'The gateway answered HTTP 400: Mcp-Session-Id is missing: initialise first, then send it',
    });
  });

  it('the connection breaks in the middle: it is not known whether the request ran', async () => {
    const server: Server = createServer((req, res) => {
      req.resume().on('end', () => res.socket?.destroy());
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const one = bridge(new URL(`http://127.0.0.1:${port}/mcp/odd`));
    const [line] = await one.ask(call('bare', '1'), '"id":1');
    expect(errorOf(line)).toMatchObject({
      message: expect.stringMatching(/broke .*; whether this request ran is not known$/) as string,
    });
    one.closeInput();
    await one.ended;
    server.close();
  });

  it('the stream ends without an answer', async () => {
    const server: Server = createServer((req, res) => {
      req.resume();
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end('data: {"jsonrpc":"2.0","method":"m"}\n\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const one = bridge(new URL(`http://127.0.0.1:${port}/mcp/odd`));
    const [notice, error] = await one.ask(call('bare', '1'), '"id":1');
    expect(notice).toBe('{"jsonrpc":"2.0","method":"m"}');
    expect(errorOf(error)).toMatchObject({ code: -32000 });
    one.closeInput();
    await one.ended;
    server.close();
  });
});

describe('a client of the SDK that starts the bridge', () => {
  it('calls, is asked, hears of changes, and leaves nothing behind', async () => {
    const support = join(__dirname, '../support');
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(support, 'gateway-stdio-bridge-child.cjs'), stage.url.href, 'token'],
    });
    const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
    const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
    await client.connect(transport as Parameters<Client['connect']>[0]);
    const textOf = async (name: string, args = {}) =>
      JSON.stringify((await client.callTool({ name, arguments: args })).content);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
    const pid = Number(/pid ([0-9]+)/.exec(await textOf('bare'))?.[1]);
    await textOf('changed');
    await changed;
    await client.close();
    await eventually(() => expect(isRunning(pid)).toBe(false));
  });
});

describe('a client without sessions that starts the bridge', () => {
  const VERSION = '2026-07-28';
  const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"${VERSION}","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`;
  beforeEach(async () => {
    await stage.close();
    stage = await openStage({ args: [join(__dirname, '../support/gateway-stdio-stateless-server.cjs')] });
  });

  it('needs no initialize, and cancels by a notice as on any stdio', async () => {
    const one = bridge(stage.url);
    open.push(one);
    const [discovered] = await one.ask(
      `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{${META}}}`,
      '"id":0',
    );
    expect(discovered).toContain(VERSION);
    const tool = (id: string, name: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{},${META}}}`;
    expect((await one.ask(tool('"é"', 'echo'), '"é"'))[0]).toContain('"text":"{}"');
    one.send(tool('0', 'hang'));
    await eventually(() => expect(stage.linesRead().some((line) => line.includes('"hang"'))).toBe(true));
    one.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}');
    await eventually(() =>
      expect(stage.linesRead().some((line) => line.includes('notifications/cancelled'))).toBe(true),
    );
    one.closeInput();
    await one.ended;
    expect(one.lines).toHaveLength(2);
  });
});
