import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { callTool, textOf } from '../support/gateway-stage';
import { whole } from '../support/gateway-stdio-client';
import { scripted, startAggregateStage, type AggregateStage } from './aggregate-stage';

let stage: AggregateStage;
let folder: string;
beforeAll(async () => {
  stage = await startAggregateStage();
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aggregate-names-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const server = (label: string, ...names: readonly string[]) => scripted({ label, lists: { tools: [names] } });
const linesIn = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);

describe('names on /mcp', () => {
  it('stay what they are when a server with the same tool is added, and each reaches its own [NAME-1]', async () => {
    await stage.apply({ servers: { notes: server('notes', 'search') } });
    const client = await stage.all();
    expect(await namesOf(client)).toEqual(['notes__search']);
    await stage.apply({ servers: { atlas: server('atlas', 'search'), notes: server('notes', 'search') } });
    expect(await namesOf(client)).toEqual(['atlas__search', 'notes__search']);
    expect(textOf(await callTool(client, 'notes__search', {}))).toMatch(/^notes: /);
    expect(textOf(await callTool(client, 'atlas__search', {}))).toMatch(/^atlas: /);
  });

  it('reach the server as its own, and nothing else of the call is changed [NAME-2]', async () => {
    const lines = join(folder, 'lines');
    await stage.apply({ servers: { notes: scripted({ label: 'notes', lists: { tools: [['search']] }, lines }) } });
    const client = await stage.raw();
    const [answer] = await whole(
      client.post(
        '{"jsonrpc":"2.0", "method":"tools/call","params":{"arguments":{ "n":1.50, "name":"notes__search"},"name":"notes__search","_meta":{"traceparent":"00-1-2-01"}},"id":"x"}',
      ),
    );
    expect(answer).toContain('"id":"x"');
    expect(linesIn(lines)).toContain(
      '{"jsonrpc":"2.0", "method":"tools/call","params":{"arguments":{ "n":1.50, "name":"notes__search"},"name":"search","_meta":{"traceparent":"00-1-2-01"}},"id":"x"}',
    );
  });

  it('are never split: the separator may stand in the name of a server or a tool [NAME-3]', async () => {
    await stage.apply({
      servers: {
        my_server: server('my_server', 'my_tool', '_x'),
        my: server('my', 'server__my_tool'),
        my__server: server('my__server', 'y'),
      },
    });
    const client = await stage.all();
    expect(await namesOf(client)).toEqual([
      'my__server__my_tool',
      'my__server__y',
      'my_server__my_tool',
      'my_server___x',
    ]);
    expect(textOf(await callTool(client, 'my_server__my_tool', {}))).toMatch(/^my_server: .*"name":"my_tool"/);
    expect(textOf(await callTool(client, 'my__server__my_tool', {}))).toMatch(/^my: .*"name":"server__my_tool"/);
    expect(textOf(await callTool(client, 'my__server__y', {}))).toMatch(/^my__server: .*"name":"y"/);
  });

  it('that two tools would share are listed for neither, and a call of one is refused and names both [NAME-3]', async () => {
    await stage.apply({ servers: { acme_: server('acme_', 'status', 'a'), acme: server('acme', '_status', 'b') } });
    const client = await stage.all();
    expect(await namesOf(client)).toEqual(['acme__b', 'acme___a']);
    const call = callTool(client, 'acme___status', {});
    await expect(call).rejects.toThrow(
      /NOT executed: "acme___status" names more than one tool: "_status" of the server "acme" and "status" of the server "acme_"/,
    );
  });

  it('are refused where two share them, also for a client that has listed only one of the two [NAME-3]', async () => {
    const later = scripted({ label: 'acme', lists: { tools: [['b'], ['_status']] } });
    await stage.apply({ servers: { acme_: server('acme_', 'status'), acme: later } });
    const client = await stage.all();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['acme__b', 'acme___status']);
    await expect(callTool(client, 'acme___status', {})).rejects.toThrow(/names more than one tool/);
  });

  it('are known to a client that has never listed them, and a plain name is not', async () => {
    await stage.apply({ servers: { notes: scripted({ label: 'notes', lists: { tools: [['a'], ['b'], ['c']] } }) } });
    const client = await stage.all();
    expect(textOf(await callTool(client, 'notes__c', {}))).toMatch(/^notes: /);
    await expect(callTool(client, 'c', {})).rejects.toThrow(/There is no tool "c" here: list the tools/);
  });

  it('have at most 64 characters, and stay apart where they are shortened', async () => {
    const long = `${'find_customers_by_'.repeat(4)}name`;
    const longer = `${'find_customers_by_'.repeat(4)}mail`;
    const name = `warehouse-of-the-northern-region-production`;
    await stage.apply({ servers: { [name]: server('north', long, longer, 'short') } });
    const client = await stage.all();
    const names = await namesOf(client);
    expect(names).toEqual([
      expect.stringMatching(/^warehouse-of-the__find_customers_by_find_customers_by_[0-9a-f]{10}$/),
      expect.stringMatching(/^warehouse-of-the__find_customers_by_find_customers_by_[0-9a-f]{10}$/),
      `${name}__short`,
    ]);
    expect(names.map(({ length }) => length)).toEqual([64, 64, 50]);
    expect(textOf(await callTool(client, names[1] ?? '', {}))).toContain(`"name":"${longer}"`);
  });

  it('of tools keep everything beside them as their server wrote it', async () => {
    await stage.apply({ servers: { notes: server('notes', 'search', 'odd') } });
    const client = await stage.raw();
    const [list] = await whole(client.post('{"jsonrpc":"2.0","id":1e0,"method":"tools/list"}'));
    expect(list).toBe(
      '{"jsonrpc":"2.0","id":1e0,"result":{"tools":[{"name":"notes__search","inputSchema":{"type":"object"},"vendor.example/n":9007199254740993},{"name":"notes__odd","inputSchema":{"type":"object"},"vendor.example/n":9007199254740993}]}}',
    );
    expect(await whole(client.call('"7"', 'notes__odd'))).toEqual([
      '{ "jsonrpc":"2.0","id":"7", "result":{"content":[],"n":9007199254740993,"big":1e400} }',
    ]);
  });

  it('follow a server that changes its list, as soon as it says so', async () => {
    await stage.apply({ servers: { notes: server('notes', 'change', 'old') } });
    const client = await stage.all();
    expect(await namesOf(client)).toEqual(['notes__change', 'notes__old']);
    await callTool(client, 'notes__change', { tools: [['change', 'new']] });
    await expect(callTool(client, 'notes__old', {})).rejects.toThrow(/There is no tool "notes__old"/);
    expect(textOf(await callTool(client, 'notes__new', {}))).toMatch(/^notes: /);
  });

  it('are found where a server has another tool and did not say so', async () => {
    const file = join(folder, 'lines');
    await stage.apply({ servers: { notes: scripted({ label: 'notes', lists: { tools: [['a']] }, lines: file }) } });
    const client = await stage.all();
    await namesOf(client);
    await callTool(client, 'notes__a', {});
    // One by the client, one by the gate: a name that is known costs no listing.
    const lists = () => linesIn(file).filter((line) => line.includes('"tools/list"')).length;
    const before = lists();
    await callTool(client, 'notes__a', {});
    expect(lists()).toBe(before);
    await expect(callTool(client, 'notes__other', {})).rejects.toThrow(/There is no tool/);
    expect(lists()).toBe(before + 1);
  });

  it('of prompts are prefixed likewise [NAME-2]', async () => {
    const lists = { prompts: [['greet']] };
    const capabilities = { prompts: {}, completions: {} };
    await stage.apply({
      servers: {
        one: scripted({ label: 'one', lists, capabilities }),
        two: scripted({ label: 'two', lists, capabilities }),
        none: server('none', 'a'),
      },
    });
    const client = await stage.all();
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['one__greet', 'two__greet']);
    expect((await client.getPrompt({ name: 'two__greet' })).description).toMatch(/^two: .*"name":"greet"/);
    const ref = { type: 'ref/prompt' as const, name: 'two__greet' };
    const { completion } = await client.complete({ ref, argument: { name: 'x', value: '' } });
    expect(completion.values).toEqual(['two']);
    await expect(client.getPrompt({ name: 'greet' })).rejects.toThrow(/There is no prompt "greet" here/);
  });
});
