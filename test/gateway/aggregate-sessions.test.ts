import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { eventually } from '../support/eventually';
import { callTool, textOf } from '../support/gateway-stage';
import { whole } from '../support/gateway-stdio-client';
import { recordedLog } from '../support/recorded-log';
import { scripted, startAggregateStage, type AggregateStage } from './aggregate-stage';

let stage: AggregateStage;
let folder: string;
beforeAll(async () => {
  stage = await startAggregateStage();
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aggregate-sessions-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const linesOf = (label: string) => readFileSync(join(folder, label), 'utf8').split('\n').slice(0, -1);
const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

/** A server with these tools that keeps what it reads. */
function server(label: string, tools: readonly string[], more: Parameters<typeof scripted>[0] = {}): string {
  return scripted({ label, lists: { tools: [tools] }, lines: join(folder, label), ...more });
}

describe('initialize on /mcp', () => {
  it('answers with what all servers can, the lowest revision, and the instructions of each', async () => {
    await stage.apply({
      servers: {
        one: server('one', ['a'], {
          version: '2025-03-26',
          instructions: 'Search first.',
          capabilities: { resources: { subscribe: true }, 'vendor.example': { x: 1 } },
        }),
        two: server('two', ['b'], { instructions: 'Be brief.', capabilities: { logging: {}, resources: {} } }),
        old: server('old', [], { version: '2024-10-07' }),
      },
    });
    const client = await stage.raw({ bare: true });
    const answer = await client.initialise();
    expect(JSON.parse(answer.messages[0] ?? '')).toEqual({
      jsonrpc: '2.0',
      id: 'init',
      result: {
        protocolVersion: '2025-03-26',
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          logging: {},
          'vendor.example': { x: 1 },
        },
        serverInfo: { name: 'holdpoint', version: '1' },
        instructions:
          '# one (its tools are named one__… here)\nSearch first.\n\n# two (its tools are named two__… here)\nBe brief.',
      },
    });
    expect(linesOf('one')[0]).toContain('"clientInfo":{"name":"raw","version":"1"}');
    await eventually(() => expect(linesOf('two')).toContain('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
  });

  it('leaves out a server that cannot begin, has it in a later list, and tells the client', async () => {
    const log = recordedLog();
    const gateway = await stage.anotherGateway({}, { log });
    const startIf = join(folder, 'go');
    await stage.apply({ servers: { ok: server('ok', ['a']), late: server('late', ['b'], { startIf }) } });
    let changes = 0;
    const client = await stage.all({
      gateway,
      prepare: (each) => each.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1)),
    });
    expect(client.getServerCapabilities()).toMatchObject({ prompts: { listChanged: true }, resources: {} });
    expect(await namesOf(client)).toEqual(['ok__a']);
    expect(log.entries).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        event: 'gateway.serverLeftOut',
        fields: expect.objectContaining({ server: 'late' }) as object,
      }),
    );
    expect(changes).toBe(0);
    writeFileSync(startIf, '');
    await eventually(async () => expect(await namesOf(client)).toEqual(['late__b', 'ok__a']));
    await eventually(() => expect(changes).toBe(1));
    expect(textOf(await callTool(client, 'late__b', {}))).toMatch(/^late: /);
  });

  it('fails where every server does, and where none is open to the requester', async () => {
    await stage.apply({ servers: { bad: server('bad', [], { startIf: join(folder, 'never') }) } });
    await expect(stage.all()).rejects.toThrow(/None of your servers could be reached/);
    await expect(stage.all({ subject: 'stranger' })).rejects.toThrow(/No server is open to you here/);
  });

  it('is what a client needs: one without sessions is told the endpoints of its servers', async () => {
    await stage.apply({
      servers: { one: server('one', ['a']), two: server('two', ['b']), not: server('not', []) },
      access:
        "  - { subjects: [u1], agents: ['*'], server: one, tools: ['*'] }\n  - { subjects: [u1], agents: ['*'], server: two, tools: [b] }\n  - { subjects: [u2], agents: ['*'], server: not, tools: ['*'] }",
    });
    const client = await stage.raw({ bare: true });
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const body = { jsonrpc: '2.0', id: 9, method: 'tools/list', params: { _meta } };
    const answer = await client.post(JSON.stringify(body), {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/list',
    });
    await answer.ended;
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.messages[0] ?? '')).toEqual({
      jsonrpc: '2.0',
      id: 9,
      error: {
        code: -32022,
        message:
          'This endpoint needs a session: begin with initialize, and without one each server at its own: /mcp/one, /mcp/two',
        data: { supported: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'], requested: '2026-07-28' },
      },
    });
  });

  it('is where a client of 2026-07-28 goes on that can', async () => {
    await stage.apply({ servers: { one: server('one', ['a']) } });
    const client = new NewClient({ name: 'new', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${stage.token('u1')}` } };
    await client.connect(new NewTransport(new URL(`${stage.gateway.url}/mcp`), { requestInit }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['one__a']);
    await client.close();
  });
});

describe('a session on /mcp', () => {
  it('is its own at every server: two clients share nothing', async () => {
    await stage.apply({ servers: { one: server('one', ['pid']), two: server('two', ['pid', 'slow']) } });
    const clients = [await stage.all(), await stage.all({ subject: 'u2' })];
    const calls = clients.flatMap((client) => ['one__pid', 'two__pid'].map((name) => callTool(client, name, {})));
    const pids = (await Promise.all(calls)).map(textOf);
    expect(new Set(pids).size).toBe(4);
    const again = await Promise.all(clients.map((client) => callTool(client, 'one__pid', {})));
    expect(again.map(textOf)).toEqual([pids[0], pids[2]]);
  });

  it('ends at every server when the client ends it', async () => {
    await stage.apply({ servers: { one: server('one', ['pid']), two: server('two', ['pid']) } });
    const client = await stage.raw();
    const pids = await Promise.all(
      ['one__pid', 'two__pid'].map(async (name) => {
        const [answer = ''] = await whole(client.call(`"${name}"`, name));
        return Number(/"text":"([0-9]+)"/.exec(answer)?.[1]);
      }),
    );
    await client.delete();
    for (const pid of pids) await eventually(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/));
    expect((await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(404);
  });

  it('goes on when a server dies in mid-call: that call has an error within 0.5 s, others their results', async () => {
    await stage.apply({ servers: { one: server('one', ['die', 'hang', 'a']), two: server('two', ['slow', 'a']) } });
    const client = await stage.all();
    await namesOf(client);
    const slow = callTool(client, 'two__slow', {});
    const hanging = callTool(client, 'one__hang', {});
    const startedMs = performance.now();
    await expect(callTool(client, 'one__die', {})).rejects.toThrow(/"one" ended \(exit code 3\).*is not known/);
    await expect(hanging).rejects.toThrow(/"one" ended \(exit code 3\).*is not known/);
    expect(performance.now() - startedMs).toBeLessThan(500);
    expect(textOf(await slow)).toBe('two: done');
    expect(textOf(await callTool(client, 'one__a', {}))).toMatch(/^one: /);
  });

  it('loses a server that is disabled or taken away: its tools are not listed, and a call says so', async () => {
    const [one, two] = [server('one', ['a']), server('two', ['b'])];
    await stage.apply({ servers: { one, two } });
    let changes = 0;
    const client = await stage.all({
      prepare: (each) => each.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1)),
    });
    expect(await namesOf(client)).toEqual(['one__a', 'two__b']);
    await stage.apply({ servers: { one, two: server('two', ['b']).replace(/ }$/, ', enabled: false }') } });
    const refused = await callTool(client, 'two__b', {});
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/^REFUSED: not executed. The server two is not open to you: it is disabled, or/);
    await eventually(() => expect(changes).toBe(1));
    expect(await namesOf(client)).toEqual(['one__a']);
    await expect(callTool(client, 'two__b', {})).rejects.toThrow(/There is no tool "two__b" here/);
    await stage.apply({ servers: { one, two } });
    expect(await namesOf(client)).toEqual(['one__a', 'two__b']);
    await stage.apply({
      servers: { one, two },
      access: "  - { subjects: [u1], agents: ['*'], server: two, tools: ['*'] }",
    });
    expect(await namesOf(client)).toEqual(['two__b']);
  });
});

describe('a server that is disabled', () => {
  it('is left at once, and its process ends', async () => {
    const [one, two] = [server('one', ['a']), server('two', ['pid'])];
    await stage.apply({ servers: { one, two } });
    const client = await stage.all();
    const pid = Number(textOf(await callTool(client, 'two__pid', {})));
    await stage.apply({ servers: { one, two: two.replace(/ }$/, ', enabled: false }') } });
    await namesOf(client);
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/));
  });
});

describe('questions of servers on /mcp', () => {
  it.each([
    { kind: 'numbers', ids: [0, 0], seen: 'number' },
    { kind: 'texts', ids: ['same', 'same'], seen: 'string' },
  ])('whose ids are the same $kind are kept apart, and stay of that type', async ({ ids: [first, second], seen }) => {
    await stage.apply({ servers: { one: server('one', ['ask']), two: server('two', ['ask']) } });
    const client = await stage.raw({ capabilities: '{"elicitation":{}}' });
    const ask = (askId: unknown) => JSON.stringify({ askId, method: 'elicitation/create', token: askId });
    const calls = [await client.call('1', 'one__ask', ask(first)), await client.call('2', 'two__ask', ask(second))];
    const questions = await eventually(() => {
      const found = calls.flatMap(({ messages }) => messages).filter((text) => text.includes('elicitation/create'));
      expect(found).toHaveLength(2);
      return found.map(
        (text) =>
          JSON.parse(text.replace('1e400', '1')) as { id: unknown; params: { _meta: { progressToken: unknown } } },
      );
    });
    const ids = questions.map(({ id }) => id);
    expect(ids.map((id) => typeof id)).toEqual([seen, seen]);
    expect(new Set(ids).size).toBe(2);
    expect(new Set(questions.map(({ params }) => params._meta.progressToken)).size).toBe(2);
    for (const { id, params } of questions) {
      const progress = { progressToken: params._meta.progressToken, progress: 1 };
      await client.post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: progress }));
      await client.post(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"action":"decline","for":${JSON.stringify(id)}}}`,
      );
    }
    await Promise.all(calls.map(({ ended }) => ended));
    for (const [label, id] of [
      ['one', first],
      ['two', second],
    ] as const) {
      const own = JSON.stringify(id);
      expect(linesOf(label)).toContain(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${own},"progress":1}}`,
      );
      expect(linesOf(label).filter((line) => line.startsWith(`{"jsonrpc":"2.0","id":${own},"result"`))).toHaveLength(1);
    }
  });

  it('are answered once, and only to the server that asked', async () => {
    await stage.apply({ servers: { one: server('one', ['ask']), two: server('two', ['a']) } });
    const client = await stage.all({
      options: { capabilities: { elicitation: {}, roots: { listChanged: true } } },
      prepare: (each) => {
        each.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
        each.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r' }] }));
      },
    });
    const asked = await callTool(client, 'one__ask', { askId: 7, method: 'roots/list' });
    expect(textOf(asked)).toBe('{"result":{"roots":[{"uri":"file:///r"}]},"jsonrpc":"2.0","id":7}');
    await client.sendRootsListChanged();
    for (const label of ['one', 'two']) {
      await eventually(() => expect(linesOf(label).join()).toContain('notifications/roots/list_changed'));
    }
    expect(linesOf('two').join()).not.toContain('file:///r');
  });

  it('that a server takes back are taken back from the client under the id that it knows', async () => {
    await stage.apply({
      servers: { one: server('one', ['ask', 'withdraw']), two: server('two', ['ask', 'withdraw']) },
    });
    const client = await stage.raw({ capabilities: '{"elicitation":{}}' });
    const ask = '{"askId":"same","method":"elicitation/create"}';
    const calls = [await client.call('1', 'one__ask', ask), await client.call('2', 'two__ask', ask)];
    const idIn = (text = '') => /^\{"jsonrpc":"2.0","id":("[^"]*")/.exec(text)?.[1];
    await eventually(() => expect(calls.flatMap(({ messages }) => messages)).toHaveLength(2));
    const [, second] = calls.flatMap(({ messages }) => messages).sort();
    const withdrawn = await client.call('3', 'two__withdraw', '{"askId":"same"}');
    await withdrawn.ended;
    const notices = [...calls, withdrawn]
      .flatMap(({ messages }) => messages)
      .filter((text) => text.includes('notifications/cancelled'));
    expect(notices).toEqual([
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idIn(second) ?? ''}}}`,
    ]);
    for (const call of calls) call.leave();
  });
});

describe('answers on /mcp', () => {
  it('reach their own call, also where a server sends its number back as text', async () => {
    await stage.apply({ servers: { one: server('one', ['asText']), two: server('two', ['slow']) } });
    const client = await stage.raw();
    const slow = await client.call('"7"', 'two__slow');
    expect(await whole(client.call('7', 'one__asText'))).toEqual([
      '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"as text"}]}}',
    ]);
    await slow.ended;
    expect(slow.messages.at(-1)).toContain('"id":"7","result":{"content":[{"type":"text","text":"two: done"}');
  });
});

describe('progress and cancelling on /mcp', () => {
  it('reach the call that they belong to, and no server reports on the call of another', async () => {
    await stage.apply({ servers: { one: server('one', ['progress']), two: server('two', ['hang', 'progress']) } });
    const client = await stage.raw();
    const hang = (id: number, token: string) =>
      client.post(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"two__hang","arguments":{},"_meta":{"progressToken":"${token}"}}}`,
      );
    const hanging = await hang(1, 'mine');
    const foreign = await client.call('2', 'one__progress', '{"token":"mine"}');
    await foreign.ended;
    expect([...hanging.messages, ...foreign.messages].join()).not.toContain('notifications/progress');
    await (
      await client.call('3', 'two__progress', '{"token":"mine"}')
    ).ended;
    await eventually(() =>
      expect(hanging.messages).toEqual([
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1.0}}',
      ]),
    );
    hanging.leave();
  });

  it('go to the server of the call alone; of an unknown call nobody is told', async () => {
    await stage.apply({ servers: { one: server('one', ['hang', 'a']), two: server('two', ['hang', 'a']) } });
    const client = await stage.raw();
    const hanging = [await client.call('0', 'one__hang'), await client.call('"0"', 'two__hang')];
    await client.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}');
    await client.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"r"}}');
    const notice = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"r"}}';
    await eventually(() => expect(linesOf('one')).toContain(notice));
    await whole(client.call('5', 'two__a'));
    expect(linesOf('two').join()).not.toContain('notifications/cancelled');
    expect(linesOf('one').join()).not.toContain('"requestId":99');
    for (const call of hanging) call.leave();
  });
});
