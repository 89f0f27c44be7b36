import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { pendingApproval } from '../../client';
import { applyGatewayPolicy } from '../support/gateway-policy';
import { callText, openRequest, openRequests, parsed, rawClient } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import type { Answer, RawClient } from '../support/gateway-stdio-client';
import { eventually } from '../support/eventually';
import { sendJson, startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';
import { startFeatureServer, type FeatureServer } from '../support/feature-server';

let stage: GatewayStage;
let feature: FeatureServer;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
  feature = await startFeatureServer();
  await applyGatewayPolicy(stage, {
    servers: { feature: { url: feature.url, tools: '{ write: {} }' } },
    rules: `  - id: writes
    server: feature
    scope: { tools: [write] }
    approvers: { groups: [dba] }`,
  });
});
afterAll(async () => {
  await stage.close();
  await feature.close();
});

const raw = (capabilities = '{}', subject = 'u1') =>
  rawClient(stage, { server: 'feature', capabilities, subject, version: '2025-11-25' });
const standing = async (client: RawClient): Promise<Answer> => {
  const answer = await client.get();
  expect(answer.status).toBe(200);
  return answer;
};
const has = (answer: Answer, word: string) =>
  eventually(() => {
    const found = answer.messages.find((text) => text.includes(word));
    if (found === undefined) throw new Error(`${word} is not in ${JSON.stringify(answer.messages)}`);
    return JSON.parse(found) as Record<string, never>;
  });

describe('a session', () => {
  it('of the upstream is kept for each client, under an id that only its requester can use [SESS-1]', async () => {
    const before = feature.sessionIds.length;
    const [one, two] = [await raw(), await raw()];
    const opened = feature.sessionIds.slice(before);
    expect(opened).toHaveLength(2);
    expect(new Set([one.session, two.session, ...opened]).size).toBe(4);
    expect((await parsed(one.call('1', 'hello')))[0]).toMatchObject({ id: 1 });
    const called = feature.seen.filter(({ body }) => body?.method === 'tools/list').at(-1);
    expect(opened).toContain(called?.headers['mcp-session-id']);
    const theirs = await rawClient(stage, { server: 'feature', subject: 'u2', bare: true });
    theirs.session = one.session;
    expect((await theirs.call('1', 'where')).status).toBe(404);
    theirs.session = opened[0];
    expect((await theirs.call('1', 'where')).status).toBe(404);
  });

  it('that the gateway does not know is 404, and the client initialises again [SESS-2]', async () => {
    const client = await raw();
    const known = client.session;
    for (const unknown of ['s1.x.y', 'nonsense', `${known ?? ''}x`]) {
      client.session = unknown;
      const answers = [await client.call('1', 'where'), await client.get(), await client.delete()];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    }
    client.session = undefined;
    expect((await client.initialise()).status).toBe(200);
    expect((await client.post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')).status).toBe(200);
  });

  it('that was ended is 404 from then on [SESS-2]', async () => {
    const client = await raw();
    expect((await client.delete()).status).toBe(200);
    const answer = await client.call('1', 'where');
    expect(answer.status).toBe(404);
  });

  it('that the upstream has lost is opened once more with the words of the client, which hears that tools may differ', async () => {
    const client = await raw();
    const lost = feature.sessionIds.at(-1) ?? '';
    await fetch(feature.url, { method: 'DELETE', headers: { 'mcp-session-id': lost } });
    expect(feature.sessionIds).not.toContain(lost);
    const [listed] = await parsed(client.post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}'));
    expect(JSON.stringify(listed)).toContain('slow');
    await has(await standing(client), 'notifications/tools/list_changed');
  });

  it('that another gateway opened is taken up by this one', async () => {
    const other = await stage.anotherGateway();
    const client = await rawClient(stage, { server: 'feature', gateway: other });
    const here = await rawClient(stage, { server: 'feature', bare: true });
    here.session = client.session;
    const [listed] = await parsed(here.post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}'));
    expect(JSON.stringify(listed)).toContain('slow');
  });
});

describe('two clients of one server', () => {
  it('have a log level and subscriptions of their own [SESS-3]', async () => {
    const [quiet, subscribed] = [await raw(), await raw()];
    const streams = [await standing(quiet), await standing(subscribed)] as const;
    await parsed(quiet.post('{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}'));
    await parsed(subscribed.post('{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:/1"}}'));
    await feature.log('info', 'for one');
    await feature.touch('x:/1');
    await feature.log('error', 'for both');
    await Promise.all(streams.map((stream) => has(stream, 'for both')));
    await has(streams[1], 'notifications/resources/updated');
    expect(streams[0].messages.filter((text) => /for one|updated/.test(text))).toEqual([]);
    expect(streams[1].messages.filter((text) => text.includes('for one'))).toHaveLength(1);
  });

  it('may use the same id at once, as number and as text, and each gets its own answer [SESS-6]', async () => {
    const clients = [await raw(), await raw(), await raw()];
    const ids = ['1', '1', '"1"'];
    const calls = clients.map((client, at) => client.call(ids[at] ?? '', 'slow', `{"n":${at}}`));
    await eventually(() =>
      expect(feature.seen.filter(({ body }) => body?.params?.['name'] === 'slow')).toHaveLength(3),
    );
    feature.release();
    const answers = await Promise.all(calls.map(parsed));
    expect(answers.map(([message]) => message?.['id'])).toEqual([1, 1, '1']);
    expect(answers.map((messages) => JSON.stringify(messages).match(/slow \d/)?.[0])).toEqual([
      ...['slow 0', 'slow 1', 'slow 2'],
    ]);
  });
});

describe('what the upstream says of itself', () => {
  it('that its tools changed reaches the client, and the gate reads them anew [SESS-4]', async () => {
    const sdk = await stage.client({ server: 'feature' });
    expect(textOf(await callTool(sdk, 'later', {}))).toContain('lists no tool later');
    const client = await raw();
    const stream = await standing(client);
    await feature.addTool('later');
    await has(stream, 'notifications/tools/list_changed');
    expect(textOf(await callTool(sdk, 'later', {}))).toBe('later');
    const listed = await sdk.request({ method: 'tools/list', params: { cursor: '4' } }, ListToolsResultSchema);
    expect(listed.tools.map(({ name }) => name)).toContain('later');
  });
});

describe('a question of the upstream inside a call', () => {
  it('is written at once, to the client that owns the session [SESS-5]', async () => {
    const [asked, other] = [await raw('{"elicitation":{}}'), await raw('{"elicitation":{}}')];
    const elsewhere = await standing(other);
    const answer = await asked.post(callText(3, 'ask', {}));
    const question = await has(answer, 'elicitation/create');
    const reply = { jsonrpc: '2.0', id: question['id'], result: { action: 'decline' } };
    expect((await asked.post(JSON.stringify(reply))).status).toBe(202);
    const messages = await parsed(Promise.resolve(answer));
    expect(messages.at(-1)).toMatchObject({ id: 3, result: { content: [{ text: 'decline' }] } });
    expect(elsewhere.messages).toEqual([]);
  });
});

describe('a server without sessions', () => {
  let plain: RawMcpServer;
  const calls: string[] = [];
  beforeAll(async () => {
    plain = await startRawMcpServer(({ verb, message }, response) => {
      if (verb !== 'POST') {
        response.writeHead(405).end();
        return true;
      }
      if (message?.method === 'tools/call') calls.push(JSON.stringify(message.params?.['arguments']));
      const result = PLAIN[message?.method ?? ''];
      return result !== undefined && sendJson(response, { jsonrpc: '2.0', id: message?.id, result });
    });
    await applyGatewayPolicy(stage, {
      servers: { plain: { url: plain.url, tools: '{ act: {} }' } },
      ...{ scope: '{ tools: [act] }', bind: 'arguments' },
    });
  });
  afterAll(() => plain.close());
  const open = () => rawClient(stage, { server: 'plain' });

  it('has one with the gateway, which forgets it on DELETE and says nothing of it to the server', async () => {
    const client = await open();
    expect(client.session).toMatch(/^s1\./);
    expect((await client.call('1', 'other')).status).toBe(200);
    expect(plain.requests.every(({ headers }) => headers['mcp-session-id'] === undefined)).toBe(true);
    expect((await client.delete()).status).toBe(200);
    expect(plain.requests.some(({ verb }) => verb === 'DELETE')).toBe(false);
    expect((await client.call('1', 'other')).status).toBe(404);
    expect((await client.get()).status).toBe(404);
  });

  it('gets no call that its client has cancelled while it waited, and another client of the id goes on [WIRE-4]', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 15_000 });
    const clients = [
      await rawClient(stage, { server: 'plain', gateway: patient }),
      await rawClient(stage, { server: 'plain', gateway: patient }),
    ];
    const answers = clients.map((client, n) => client.call('1', 'act', `{"n":${n}}`));
    const request = (n: number) =>
      eventually(async () => {
        const found = (await openRequests(stage)).find(({ arguments: given }) => given['n'] === n);
        if (found === undefined) throw new Error(`${n} is not open`);
        return found;
      });
    const [first, second] = [await request(0), await request(1)];
    await clients[0]?.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}');
    for (const each of [first, second]) await stage.decide(each, 'allow');
    const [, kept] = await Promise.all(answers.map(parsed));
    expect(kept?.[0]).toMatchObject({ id: 1, result: { content: [{ text: 'ok' }] } });
    expect(calls.filter((given) => given !== '{}')).toEqual(['{"n":1}']);
  });
});

const PLAIN: Readonly<Record<string, unknown>> = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } },
  'tools/list': { tools: ['act', 'other'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
  'tools/call': { content: [{ type: 'text', text: 'ok' }] },
};

describe('a server whose calls run on the session of the client', () => {
  const server = 'feature';
  const apply = () =>
    applyGatewayPolicy(stage, {
      servers: { feature: { url: feature.url, tools: '{ write: {} }', session: 'client' } },
      ...{ scope: '{ tools: [write] }', bind: 'arguments' },
    });
  beforeAll(apply);
  const rooted = () => rawClient(stage, { server, capabilities: '{"roots":{}}', version: '2025-11-25' });
  /** Has the server ask for the roots, and answers them. */
  const nameRoots = async (client: RawClient, ...uris: string[]) => {
    const answer = await client.post(callText(`where ${uris.join()}`, 'where', {}));
    const question = await has(answer, 'roots/list');
    const result = { roots: uris.map((uri) => ({ uri })) };
    await client.post(JSON.stringify({ jsonrpc: '2.0', id: question['id'], result }));
    const [, last] = await parsed(Promise.resolve(answer));
    expect(last?.['result']).toMatchObject({ content: [{ text: uris.join() }] });
  };
  const write = async (client: RawClient, n: number) => {
    const [message] = await parsed(client.post(callText(n, 'write', { n })));
    return CallToolResultSchema.parse(message?.['result']);
  };
  const allow = async (operationId: string) => {
    expect((await stage.decide(await openRequest(stage, operationId), 'allow')).code).toBe('accepted');
  };
  const done = (client: RawClient, n: number) =>
    eventually(async () => {
      const result = await write(client, n);
      if (pendingApproval(result) !== null) throw new Error(JSON.stringify(result));
      return result;
    });

  it('binds the roots: with others it is another operation', async () => {
    const client = await rooted();
    await nameRoots(client, 'file:///a');
    const first = approvalOf(await write(client, 1));
    expect((await openRequest(stage, first.operationId)).context).toMatchObject({
      session: { kind: 'client', roots: [{ uri: 'file:///a' }] },
    });
    await nameRoots(client, 'file:///b');
    const other = approvalOf(await write(client, 1));
    expect(other.operationId).not.toBe(first.operationId);
    expect(other['digest']).not.toBe(first['digest']);
    await allow(first.operationId);
    expect(approvalOf(await write(client, 1)).operationId).toBe(other.operationId);
    expect(feature.written).toEqual([]);
    await nameRoots(client, 'file:///a');
    expect(approvalOf(await done(client, 1))).toMatchObject({ status: 'approved', operationId: first.operationId });
    expect(feature.written.map(({ roots }) => roots)).toEqual([['file:///a']]);
  });

  it('is not run where the roots changed between the allow and the run', async () => {
    const before = feature.written.length;
    const patient = await stage.anotherGateway({ waitForMs: 4_000 });
    const client = await rawClient(stage, { ...{ server, gateway: patient }, capabilities: '{"roots":{}}' });
    await nameRoots(client, 'file:///a');
    const waiting = write(client, 2);
    const request = await eventually(async () => {
      const found = (await openRequests(stage)).find(({ arguments: given }) => given['n'] === 2);
      if (found === undefined) throw new Error('not open');
      return found;
    });
    await nameRoots(client, 'file:///b');
    await allow(request.operationId);
    expect(approvalOf(await waiting)).toMatchObject({ status: 'allowed', operationId: request.operationId });
    expect(feature.written).toHaveLength(before);
  });

  it('believes no roots that the server has not asked for', async () => {
    const client = await rooted();
    await nameRoots(client, 'file:///a');
    const { operationId } = approvalOf(await write(client, 3));
    await nameRoots(client, 'file:///b');
    const forged = { jsonrpc: '2.0', id: 'made up', result: { roots: [{ uri: 'file:///a' }] } };
    await client.post(JSON.stringify(forged));
    await allow(operationId);
    expect(approvalOf(await write(client, 3)).operationId).not.toBe(operationId);
    expect(feature.written.filter(({ roots }) => roots.includes('file:///b'))).toEqual([]);
  });

  it('is opened anew where its roots are not known here', async () => {
    const other = await stage.anotherGateway();
    const client = await rooted();
    const there = await rawClient(stage, { server, gateway: other, bare: true });
    there.session = client.session;
    expect((await there.call('1', 'write')).status).toBe(404);
    const rootless = await rawClient(stage, { server });
    there.session = rootless.session;
    expect((await there.post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')).status).toBe(200);
  });

  it('runs on the session of the client that waits', async () => {
    const client = await rooted();
    const own = feature.sessionIds.at(-1);
    await nameRoots(client, 'file:///mine');
    const { operationId } = approvalOf(await write(client, 4));
    await allow(operationId);
    await done(client, 4);
    expect(feature.written.at(-1)).toEqual({ roots: ['file:///mine'], session: own });
  });
});
