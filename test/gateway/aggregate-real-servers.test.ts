import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '../support/eventually';
import { callTool, textOf } from '../support/gateway-stage';
import { http, node, program, startAggregateStage, type AggregateStage } from './aggregate-stage';

describe('/mcp over real servers', () => {
  let stage: AggregateStage;
  let folder: string;
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'aggregate-')));
    await writeFile(join(folder, 'a.txt'), 'é 😀\n');
    await mkdir(join(folder, 'in'));
    await writeFile(join(folder, 'in', 'b.txt'), 'b');
    stage = await startAggregateStage();
    await stage.apply({
      servers: {
        'orders-db': http(stage.tools.url),
        everything: node([program('everything'), 'stdio']),
        memory: node([program('memory')]),
        files: node([program('filesystem'), folder]),
      },
    });
  }, 60_000);
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true });
  });

  test('lists the tools of all of them under names with their servers, and each call reaches its own [NAME-2]', async () => {
    const client = await stage.all();
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'orders-db__read_rows',
        'everything__echo',
        'memory__read_graph',
        'files__read_text_file',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(textOf(await callTool(client, 'everything__echo', { message: 'é' }))).toBe('Echo: é');
    expect(textOf(await callTool(client, 'files__read_text_file', { path: join(folder, 'a.txt') }))).toBe('é 😀\n');
    await callTool(client, 'memory__read_graph', {});
    await callTool(client, 'orders-db__read_rows', { table: 'orders' });
    expect(stage.tools.receivedBy('read_rows')).toHaveLength(1);
  });

  test('mixes nothing up, however many calls of two clients are in flight at once', async () => {
    const clients = [await stage.all(), await stage.all({ subject: 'u2' })];
    const calls = Array.from({ length: 100 }, async (_, at) => {
      const client = clients[at % 2];
      if (client === undefined) throw new Error('there are two clients');
      const said = [
        callTool(client, 'everything__echo', { message: `m${at}` }),
        callTool(client, 'everything__get-sum', { a: at, b: 1 }),
        callTool(client, 'orders-db__read_rows', { table: `t${at}` }),
      ];
      return (await Promise.all(said)).map(textOf);
    });
    const answers = await Promise.all(calls);
    for (const [at, [echo, sum, rows]] of answers.entries()) {
      expect(echo).toBe(`Echo: m${at}`);
      expect(sum).toContain(` is ${at + 1}.`);
      expect(rows).toContain('chair');
    }
    const tables = stage.tools.receivedBy('read_rows').map(({ arguments: given }) => given['table']);
    expect(new Set(tables.filter((table) => typeof table === 'string' && /^t\d/.test(table))).size).toBe(100);
  });

  test('lets each server ask the client, and roots decide at each what its tools may do', async () => {
    const client = await stage.all({
      options: { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } },
      prepare: (each) => {
        each.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${folder}/in` }] }));
        each.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Zoë' } }));
        each.setRequestHandler(CreateMessageRequestSchema, () => ({
          ...{ role: 'assistant' as const, model: 'm' },
          content: { type: 'text' as const, text: 'sampled' },
        }));
      },
    });
    const call = async (name: string, args = {}) => textOf(await callTool(client, name, args));
    await eventually(async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['everything__get-roots-list', 'everything__trigger-elicitation-request']),
      );
    });
    expect(await call('everything__trigger-elicitation-request')).toContain('Zoë');
    expect(await call('everything__trigger-sampling-request', { prompt: 'p' })).toContain('sampled');
    await eventually(async () => expect(await call('files__list_allowed_directories')).toContain(join(folder, 'in')));
    expect(await call('files__read_text_file', { path: join(folder, 'a.txt') })).toContain('Access denied');
    expect(await call('files__read_text_file', { path: join(folder, 'in', 'b.txt') })).toBe('b');
  });

  test('tells only the client that subscribed of a changed resource', async () => {
    const uri = 'demo://resource/static/document/features.md';
    const updates: string[][] = [[], []];
    const clients = await Promise.all(
      updates.map((seen) =>
        stage.all({
          prepare: (each) =>
            each.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void seen.push(params.uri)),
        }),
      ),
    );
    await clients[0]?.subscribeResource({ uri });
    for (const client of clients) await callTool(client, 'everything__toggle-subscriber-updates', {});
    await eventually(() => expect(updates[0]).toContain(uri));
    expect(updates[1]).toEqual([]);
  });

  test('reports progress to the call that asked for it', async () => {
    const client = await stage.all();
    const runs = [3, 4].map(async (steps) => {
      const seen: number[] = [];
      const call = { name: 'everything__trigger-long-running-operation', arguments: { duration: 0.3, steps } };
      await client.callTool(call, undefined, { onprogress: ({ total }) => seen.push(total ?? 0) });
      return seen;
    });
    // The last one may be lost in the SDK's client, where it comes together with the answer.
    const [three = [], four = []] = await Promise.all(runs);
    expect(three.slice(0, 2)).toEqual([3, 3]);
    expect(four.slice(0, 3)).toEqual([4, 4, 4]);
  });

  test('runs a task from its call to its result at the server that began it', async () => {
    const client = await stage.all();
    await client.listTools();
    const call = { name: 'everything__simulate-research-query', arguments: { topic: 't' } };
    const kinds: string[] = [];
    const steps = client.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 60_000 } });
    for await (const step of steps) kinds.push(step.type);
    expect(kinds[0]).toBe('taskCreated');
    expect(kinds.at(-1)).toBe('result');
    expect((await client.experimental.tasks.listTasks()).tasks).toHaveLength(1);
    await expect(client.experimental.tasks.getTask('no-such-task')).rejects.toMatchObject({ code: -32602 });
  });

  test('notices a server on HTTP that dies in mid-call, and goes on with it when it is back', async () => {
    const client = await stage.all();
    stage.tools.behave('read_rows', { kind: 'hang' }, 1);
    const before = stage.tools.receivedBy('read_rows').length;
    const call = callTool(client, 'orders-db__read_rows', { table: 'orders' });
    await eventually(() => expect(stage.tools.receivedBy('read_rows')).toHaveLength(before + 1));
    await stage.tools.stop();
    const stoppedMs = performance.now();
    await expect(call).rejects.toThrow(/carried out|cannot be reached/);
    expect(performance.now() - stoppedMs).toBeLessThan(500);
    expect(textOf(await callTool(client, 'everything__echo', { message: 'on' }))).toBe('Echo: on');
    await expect(callTool(client, 'orders-db__other', {})).rejects.toThrow(/gave no list now: orders-db/);
    await expect(callTool(client, 'orders-db__read_rows', {})).rejects.toThrow(/cannot be reached/);
    await stage.tools.start();
    const back = await callTool(client, 'orders-db__read_rows', { table: 'orders' });
    expect(back.isError).not.toBe(true);
  });
});
