import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTool, textOf } from '../support/gateway-stage';
import { http, node, program, startAggregateStage, type AggregateStage } from './aggregate-stage';

describe('/mcp over real servers', () => {
  let stage: AggregateStage;
  let folder: string;
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'aggregate-')));
    await writeFile(join(folder, 'a.txt'), 'é 😀\n');
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
});
