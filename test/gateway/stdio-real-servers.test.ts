import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '../support/eventually';
import { startDirect, whole } from '../support/gateway-stdio-client';
import type { Direct, RawClient } from '../support/gateway-stdio-client';
import { openStage } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';

const packageOf = (name: string) => dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`));
const entry = (name: string) => join(packageOf(name), 'dist/index.js');

let folder: string;
let stage: Stage;
let close: (() => Promise<unknown>)[];
beforeEach(async () => {
  close = [];
  folder = await realpath(await mkdtemp(join(tmpdir(), 'stdio-real-')));
  await writeFile(join(folder, 'a.txt'), 'é 😀\n');
});
afterEach(async () => {
  await Promise.all(close.map((end) => end()));
  await stage.close();
  await rm(folder, { recursive: true });
});

const INITIALIZE = (capabilities: string) =>
  `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":${capabilities},"clientInfo":{"name":"raw","version":"1"}}}`;

/** The same server twice: behind the gateway, and without it. */
async function pair(args: readonly string[], env = {}, capabilities = '{}'): Promise<[RawClient, Direct]> {
  stage = await openStage({ args, env });
  const direct = startDirect(args, env);
  close.push(async () => direct.close());
  const client = await stage.client({ capabilities });
  await direct.ask('init', INITIALIZE(capabilities));
  direct.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return [client, direct];
}

async function expectSame([client, direct]: [RawClient, Direct], method: string, params = '{}'): Promise<string> {
  const message = `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
  const lines = await direct.ask(7, message);
  const relayed = await whole(client.post(message));
  expect(relayed.filter((text) => text.includes('"id":7'))).toEqual(lines.filter((text) => text.includes('"id":7')));
  return relayed.at(-1) ?? '';
}

interface Handlers {
  readonly roots?: readonly string[];
  readonly onUpdate?: (uri: string) => void;
}

/** The SDK's own client; it declares all that it can. */
async function connect({ roots = [], onUpdate = () => undefined }: Handlers = {}): Promise<Client> {
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
  const client = new Client({ name: 'sdk', version: '1' }, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((path) => ({ uri: `file://${path}` })) }));
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Zoë' } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    ...{ role: 'assistant', model: 'm' },
    content: { type: 'text', text: 'sampled' },
  }));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => onUpdate(params.uri));
  await client.connect(new StreamableHTTPClientTransport(stage.url) as Parameters<Client['connect']>[0]);
  close.push(() => client.close());
  return client;
}

const textOf = (result: unknown) => JSON.stringify((result as { content: unknown }).content);

describe('server-everything behind the gateway', () => {
  it('answers as it does without it, to the byte', async () => {
    const both = await pair([entry('everything'), 'stdio']);
    const tools = await expectSame(both, 'tools/list');
    expect((JSON.parse(tools) as { result: { tools: unknown[] } }).result.tools).toHaveLength(13);
    for (const method of ['resources/list', 'resources/templates/list', 'prompts/list', 'no/such/method']) {
      await expectSame(both, method);
    }
    await expectSame(both, 'tools/call', '{"name":"echo","arguments":{"message":"é 😀"}}');
    await expectSame(both, 'tools/call', '{"name":"get-structured-content","arguments":{"location":"Chicago"}}');
    await expectSame(both, 'tools/call', '{"name":"get-tiny-image","arguments":{}}');
    await expectSame(both, 'tools/call', '{"name":"get-sum","arguments":{"a":"x"}}');
    await expectSame(both, 'prompts/get', '{"name":"simple-prompt"}');
    await expectSame(both, 'resources/read', '{"uri":"demo://resource/static/document/features.md"}');
  });

  it('lists what the capabilities of each client deserve', async () => {
    const both = await pair([entry('everything'), 'stdio'], {}, '{"sampling":{},"elicitation":{},"roots":{}}');
    await eventually(async () => expect(await expectSame(both, 'tools/list')).toContain('get-roots-list'));
    const plain = await stage.client();
    const [listed] = await whole(plain.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    expect(listed).not.toContain('get-roots-list');
  });

  it('asks the client inside a call, and gets its answers [SESS-5]', async () => {
    stage = await openStage({ args: [entry('everything'), 'stdio'] });
    const client = await connect({ roots: [folder] });
    const call = (name: string, args = {}) => client.callTool({ name, arguments: args });
    expect(textOf(await call('trigger-elicitation-request'))).toContain('Zoë');
    expect(textOf(await call('trigger-sampling-request', { prompt: 'p' }))).toContain('sampled');
    await eventually(async () => expect(textOf(await call('get-roots-list'))).toContain(folder));
  });

  it('reports progress to the call that asked for it [WIRE-1]', async () => {
    stage = await openStage({ args: [entry('everything'), 'stdio'] });
    const clients = [await connect(), await connect()];
    const seen = await Promise.all(
      clients.map(async (client, at) => {
        const progress: unknown[] = [];
        const args = { duration: 0.3, steps: 3 + at };
        const call = { name: 'trigger-long-running-operation', arguments: args };
        await client.callTool(call, undefined, { onprogress: (step) => progress.push(step) });
        return progress;
      }),
    );
    // The last one may be lost in the SDK's client, where it comes together with the answer.
    expect(seen[0]?.slice(0, 2)).toEqual([1, 2].map((progress) => ({ progress, total: 3 })));
    expect(seen[1]?.slice(0, 3)).toEqual([1, 2, 3].map((progress) => ({ progress, total: 4 })));
  });

  it('tells only the client that subscribed of a changed resource [SESS-3]', async () => {
    stage = await openStage({ args: [entry('everything'), 'stdio'] });
    const uri = 'demo://resource/static/document/features.md';
    const updates: string[] = [];
    const others: string[] = [];
    const client = await connect({ onUpdate: (changed) => updates.push(changed) });
    const other = await connect({ onUpdate: (changed) => others.push(changed) });
    await client.subscribeResource({ uri });
    for (const one of [other, client]) await one.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await eventually(() => expect(updates).toEqual([uri]));
    await other.ping();
    expect(others).toEqual([]);
  });

  it('runs a task from its call to its result, all of which the gate sees', async () => {
    stage = await openStage({ args: [entry('everything'), 'stdio'] });
    const client = await connect();
    const call = { name: 'simulate-research-query', arguments: { topic: 't' } };
    const kinds: string[] = [];
    const steps = client.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 60_000 } });
    for await (const step of steps) kinds.push(step.type);
    expect([kinds[0], kinds.at(-1)]).toEqual(['taskCreated', 'result']);
    expect(new Set(stage.gate.judged.map(({ message }) => message.method))).toContain('tasks/get');
  });
});

describe('server-filesystem behind the gateway', () => {
  it('answers as it does without it, to the byte [LIST-3, LIST-4]', async () => {
    const both = await pair([entry('filesystem'), folder]);
    await expectSame(both, 'tools/list');
    const path = JSON.stringify(join(folder, 'a.txt'));
    await expectSame(both, 'tools/call', `{"name":"read_text_file","arguments":{"path":${path}}}`);
    await expectSame(both, 'tools/call', `{"name":"get_file_info","arguments":{"path":${path}}}`);
    const refused = await expectSame(
      both,
      'tools/call',
      '{"name":"read_text_file","arguments":{"path":"/etc/passwd"}}',
    );
    expect(refused).toContain('"isError":true');
    expect(refused).not.toContain('structuredContent');
  });

  it('lets each client into its own roots only [SESS-3]', async () => {
    const other = await realpath(await mkdtemp(join(tmpdir(), 'stdio-other-')));
    close.push(() => rm(other, { recursive: true }));
    stage = await openStage({ args: [entry('filesystem'), '/usr'] });
    const clients = [await connect({ roots: [folder] }), await connect({ roots: [other] })];
    const allowed = (client: Client | undefined) =>
      eventually(async () => {
        const text = textOf(await client?.callTool({ name: 'list_allowed_directories', arguments: {} }));
        expect(text).not.toContain('/usr');
        return text;
      });
    expect(await allowed(clients[0])).toContain(folder);
    expect(await allowed(clients[1])).toContain(other);
    expect(await allowed(clients[1])).not.toContain(folder);
  });
});

describe('server-memory behind the gateway', () => {
  it('answers as it does without it, to the byte', async () => {
    const both = await pair([entry('memory')], { MEMORY_FILE_PATH: join(folder, 'memory.json') });
    await expectSame(both, 'tools/list');
    await expectSame(both, 'tools/call', '{"name":"read_graph","arguments":{}}');
    await expectSame(both, 'tools/call', '{"name":"search_nodes","arguments":{"query":"é"}}');
    await expectSame(both, 'tools/call', '{"name":"create_entities","arguments":{"entities":"none"}}');
  });
});

describe('a client of the SDK', () => {
  it('whose server dies in mid-call hears of it at once, and can begin anew', async () => {
    stage = await openStage();
    const client = await connect();
    const hanging = client.callTool({ name: 'hang', arguments: {} }).catch((error: unknown) => String(error));
    await eventually(() => expect(stage.linesRead().some((line) => line.includes('"hang"'))).toBe(true));
    const start = performance.now();
    const dying = client.callTool({ name: 'die', arguments: {} }).catch((error: unknown) => String(error));
    expect(await hanging).toContain('MCP error -32000: The process of the server "odd" ended (exit code 3)');
    expect(await dying).toContain('whether this request ran is not known');
    expect(performance.now() - start).toBeLessThan(500);
    expect(textOf(await (await connect()).callTool({ name: 'bare', arguments: {} }))).toContain('pid');
  });

  it('lists two pages, and again after a change notice [LIST-1, SESS-4]', async () => {
    stage = await openStage();
    const changes: (readonly string[])[] = [];
    const client = new Client(
      { name: 'sdk', version: '1' },
      {
        listChanged: {
          tools: { onChanged: (_, tools) => void changes.push((tools ?? []).map(({ name }) => name)) },
        },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(stage.url) as Parameters<Client['connect']>[0]);
    close.push(() => client.close());
    const pages = async () => {
      const { tools, nextCursor } = await client.listTools();
      const next = await client.listTools({ cursor: nextCursor });
      return [...tools, ...next.tools].map(({ name }) => name);
    };
    expect(await pages()).toEqual(['echo', 'bare', 'structured']);
    await client.callTool({ name: 'changed', arguments: {} });
    await eventually(() => expect(changes).toHaveLength(1));
    expect(await pages()).toEqual(['echo', 'bare', 'structured']);
  });
});
