import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '../support/eventually';
import { callTool } from '../support/gateway-stage';
import { scripted, startAggregateStage, type AggregateStage } from './aggregate-stage';

let stage: AggregateStage;
let folder: string;
beforeAll(async () => {
  stage = await startAggregateStage();
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aggregate-resources-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const capabilities = { resources: { subscribe: true }, completions: {}, logging: {} };
const linesOf = (label: string) => join(folder, label);
const asked = (label: string, method: string) =>
  readFileSync(linesOf(label), 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"method":"${method}"`));

function server(label: string, more: Parameters<typeof scripted>[0] = {}): string {
  return scripted({ label, capabilities, lines: linesOf(label), ...more });
}

describe('resources on /mcp', () => {
  const servers = () => ({
    first: server('first', {
      lists: { resources: [['a://1'], ['a://2']], resourceTemplates: [['a://x/{id}']] },
      hidden: 'a://x/',
    }),
    second: server('second', {
      lists: { resources: [['b://1']], resourceTemplates: [['b://{+path}']] },
      hidden: 'b://',
    }),
    third: server('third', { hidden: 'c://' }),
    tools: scripted({ label: 'tools', lists: { tools: [['t']] }, lines: linesOf('tools') }),
  });

  it('are read at their owner, also by a client that has listed nothing [NAME-5]', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    expect(await read('b://1')).toEqual([{ uri: 'b://1', text: 'second' }]);
    expect(await read('a://2')).toEqual([{ uri: 'a://2', text: 'first' }]);
    expect(asked('first', 'resources/read')).toHaveLength(1);
    expect(asked('second', 'resources/read')).toHaveLength(1);
    expect(asked('tools', 'resources/read')).toHaveLength(0);
  });

  it('are read where their template is from, and at each server in turn where nobody listed them [NAME-5]', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    expect(await read('b://deep/er')).toEqual([{ uri: 'b://deep/er', text: 'second' }]);
    expect(asked('first', 'resources/read')).toHaveLength(0);
    expect(await read('c://7')).toEqual([{ uri: 'c://7', text: 'third' }]);
    expect(asked('first', 'resources/read')).toHaveLength(1);
  });

  it('that nobody has are an error of their own; one of a template is an error of its server [NAME-5]', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    await expect(client.readResource({ uri: 'd://1' })).rejects.toMatchObject({
      code: -32002,
      message: expect.stringContaining('None of the servers here has the resource "d://1"') as string,
    });
    await stage.apply({
      servers: { ...servers(), first: server('first', { lists: { resourceTemplates: [['a://x/{id}']] } }) },
    });
    await client.listResourceTemplates();
    await expect(client.readResource({ uri: 'a://x/9' })).rejects.toThrow(/first has no a:\/\/x\/9/);
  });

  it('that two servers list are read at neither, and the error names both [NAME-5]', async () => {
    const lists = { resources: [['memo://insights']] };
    await stage.apply({
      servers: { staging: server('staging', { lists }), production: server('production', { lists }) },
    });
    const client = await stage.all();
    expect((await client.listResources()).resources).toHaveLength(2);
    await expect(client.readResource({ uri: 'memo://insights' })).rejects.toThrow(
      /More than one server lists the resource "memo:\/\/insights".*\/mcp\/production and \/mcp\/staging/,
    );
  });

  it('and their templates are listed page by page, as they are', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    const page = await client.listResources();
    expect(page.resources.map(({ uri }) => uri)).toEqual(['a://1', 'b://1']);
    const next = await client.listResources({ cursor: page.nextCursor });
    expect(next.resources.map(({ uri }) => uri)).toEqual(['a://2']);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['a://x/{id}', 'b://{+path}']);
  });

  it('are subscribed to at their owner, which alone is told of the end', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    await client.subscribeResource({ uri: 'b://1' });
    await client.unsubscribeResource({ uri: 'b://1' });
    expect(asked('second', 'resources/subscribe')).toHaveLength(1);
    expect(asked('second', 'resources/unsubscribe')).toHaveLength(1);
    expect(asked('first', 'resources/subscribe')).toHaveLength(0);
    expect(asked('first', 'resources/unsubscribe')).toHaveLength(0);
  });

  it('are told of by the server that took the subscription, and by no other', async () => {
    const more = (label: string) => ({ lists: { tools: [['tell']], resources: [[`${label}://1`]] } });
    await stage.apply({ servers: { first: server('first', more('a')), second: server('second', more('b')) } });
    const told: string[] = [];
    const client = await stage.all({
      prepare: (each) =>
        each.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void told.push(params.uri)),
    });
    await client.subscribeResource({ uri: 'b://1' });
    const notice = (uri: string) => ({ method: 'notifications/resources/updated', params: { uri } });
    await callTool(client, 'first__tell', notice('b://1'));
    await callTool(client, 'second__tell', notice('b://1'));
    await callTool(client, 'first__tell', notice('a://1'));
    await eventually(() => expect(told).toEqual(['b://1', 'a://1']));
  });

  it('are asked for first where the template says most of them', async () => {
    const lists = (template: string) => ({ lists: { resourceTemplates: [[template]] }, hidden: 'docs://' });
    await stage.apply({
      servers: { any: server('any', lists('{+uri}')), docs: server('docs', lists('docs://{id}')) },
    });
    const client = await stage.all();
    expect((await client.readResource({ uri: 'docs://7' })).contents).toEqual([{ uri: 'docs://7', text: 'docs' }]);
    expect(asked('any', 'resources/read')).toHaveLength(0);
  });

  it('are completed by the server of their template', async () => {
    await stage.apply({ servers: servers() });
    const client = await stage.all();
    const ref = { type: 'ref/resource' as const, uri: 'b://{+path}' };
    const { completion } = await client.complete({ ref, argument: { name: 'path', value: '' } });
    expect(completion.values).toEqual(['second']);
  });
});

describe('the level of logs on /mcp', () => {
  it('goes to every server that logs, and to one that begins anew', async () => {
    const servers = {
      first: server('first', { lists: { tools: [['die', 'a']] } }),
      second: server('second'),
      tools: scripted({ label: 'tools', lines: linesOf('tools') }),
    };
    await stage.apply({ servers });
    const client = await stage.all();
    await client.setLoggingLevel('warning');
    expect(asked('first', 'logging/setLevel')).toHaveLength(1);
    expect(asked('second', 'logging/setLevel')).toHaveLength(1);
    expect(asked('tools', 'logging/setLevel')).toHaveLength(0);
    await expect(callTool(client, 'first__die', {})).rejects.toThrow(/ended \(exit code 3\)/);
    await callTool(client, 'first__a', {});
    await eventually(() => expect(asked('first', 'logging/setLevel')).toHaveLength(2));
  });

  it('is nothing that a server takes where none logs', async () => {
    await stage.apply({ servers: { tools: scripted({ label: 'tools' }) } });
    const client = await stage.all();
    await expect(client.setLoggingLevel('warning')).rejects.toThrow(/logging|-32601/);
  });
});
