import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { callTool, textOf } from '../support/gateway-stage';
import { recordedLog } from '../support/recorded-log';
import { scripted, startAggregateStage, type AggregateStage } from './aggregate-stage';

let stage: AggregateStage;
beforeAll(async () => {
  stage = await startAggregateStage();
}, 60_000);
afterAll(() => stage.close());

const THREE_AND_ONE = {
  three: scripted({ label: 'three', lists: { tools: [['a', 'b'], ['c'], ['d']] } }),
  one: scripted({ label: 'one', lists: { tools: [['a', 'z']] } }),
};

async function pagesOf(client: Client): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    pages.push(page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

describe('lists on /mcp', () => {
  it('hold every tool once, over servers with three pages and one [LIST-2]', async () => {
    await stage.apply({ servers: THREE_AND_ONE });
    const client = await stage.all();
    const expected = [['one__a', 'one__z', 'three__a', 'three__b'], ['three__c'], ['three__d']];
    expect(await pagesOf(client)).toEqual(expected);
    expect(await pagesOf(client)).toEqual(expected);
    expect(textOf(await callTool(client, 'three__d', {}))).toMatch(/^three: /);
  });

  it('go on at each server where it was, so a server gets only cursors of its own [LIST-2]', async () => {
    await stage.apply({
      servers: {
        ...THREE_AND_ONE,
        two: scripted({ label: 'two', lists: { tools: [['a'], ['b']] } }),
      },
    });
    expect(await pagesOf(await stage.all())).toEqual([
      ['one__a', 'one__z', 'three__a', 'three__b', 'two__a'],
      ['three__c', 'two__b'],
      ['three__d'],
    ]);
  });

  it('take no cursor that was altered, is of another session or list, or of a server [LIST-2]', async () => {
    const lists = { tools: [['a'], ['b']], prompts: [['p'], ['q']] };
    await stage.apply({ servers: { two: scripted({ label: 'two', lists, capabilities: { prompts: {} } }) } });
    const [client, other] = [await stage.all(), await stage.all()];
    const cursor = (await client.listTools()).nextCursor ?? '';
    const [held = '', mac = ''] = cursor.split('.');
    const altered = `${Buffer.from('{"two":"two0"}').toString('base64url')}.${mac}`;
    for (const wrong of [altered, `${held}.`, held, '', 'two1', `${cursor}A`, mac]) {
      await expect(client.listTools({ cursor: wrong })).rejects.toMatchObject({ code: -32602 });
    }
    await expect(other.listTools({ cursor })).rejects.toMatchObject({ code: -32602 });
    await expect(client.listPrompts({ cursor })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listTools({ cursor })).tools.map(({ name }) => name)).toEqual(['two__b']);
  });

  it('leave out a server that fails, say so in the log, and have it again when it works', async () => {
    const log = recordedLog();
    const gateway = await stage.anotherGateway({}, { log });
    const ok = scripted({ label: 'ok', lists: { tools: [['a']] } });
    await stage.apply({ servers: { ok, bad: scripted({ label: 'bad', broken: ['tools/list'] }) } });
    const client = await stage.all({ gateway });
    expect(await pagesOf(client)).toEqual([['ok__a']]);
    expect(log.entries).toContainEqual({
      level: 'warn',
      fields: { server: 'bad', method: 'tools/list', detail: 'out of order' },
      event: 'gateway.listLeftOut',
    });
    await stage.apply({ servers: { ok, bad: scripted({ label: 'bad', lists: { tools: [['b']] } }) } });
    expect(await pagesOf(client)).toEqual([['bad__b', 'ok__a']]);
  });

  it('are an error where no server gives one: an empty list would be a wrong answer', async () => {
    await stage.apply({ servers: { bad: scripted({ label: 'bad', broken: ['tools/list'] }) } });
    const client = await stage.all();
    await expect(client.listTools()).rejects.toThrow(/No server gave its list: bad \(out of order\)/);
  });

  it('leave out what has no name, which would break the whole list for a client', async () => {
    const tools = [[{ inputSchema: { type: 'object' } }, 'a', { name: 7 }]];
    await stage.apply({ servers: { one: scripted({ lists: { tools } }) } });
    expect(await pagesOf(await stage.all())).toEqual([['one__a']]);
  });
});
