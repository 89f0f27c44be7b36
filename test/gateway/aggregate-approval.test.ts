import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { pendingApproval } from '../../client';
import { collected, effectsOf, migration, openRequest, openRequests } from '../support/gateway-rows';
import { approvalOf, callTool, textOf } from '../support/gateway-stage';
import { eventually } from '../support/eventually';
import { startFeatureServer } from '../support/feature-server';
import { http, scripted, startAggregateStage, type AggregateStage } from './aggregate-stage';

const TOOLS = `, tools: { read_rows: { destructive: false }, find_migration: { destructive: false }, apply_migration: { arguments: { operation_id: { fill: operationId } }, material: { environment: { at: /environment, as: text }, statement: { at: /sql, as: sql } } } }`;
const RULE = `  - id: migrations
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { groups: [dba], quorum: 1 }
    bind: material
    validity: once
    deadline: { after: 30m, then: expire }`;

let stage: AggregateStage;
beforeAll(async () => {
  stage = await startAggregateStage();
  await stage.apply({
    servers: {
      'orders-db': http(stage.tools.url, TOOLS),
      notes: scripted({ label: 'notes', lists: { tools: [['search', 'apply_migration']] } }),
    },
    rules: RULE,
  });
}, 60_000);
afterAll(() => stage.close());

const TOOL = 'orders-db__apply_migration';

describe('a protected call through /mcp', () => {
  it('is pending, runs once after the allow, and is collected by the same call [NAME-4]', async () => {
    const client = await stage.all();
    const { tools } = await client.listTools();
    const listed = tools.find(({ name }) => name === TOOL);
    expect(listed?.inputSchema.properties).not.toHaveProperty('operation_id');
    const pending = await client.callTool({ name: TOOL, arguments: migration('ADD all') });
    expect(pending.isError).toBe(false);
    const { operationId } = approvalOf(pending as never);
    const request = await openRequest(stage, operationId);
    expect(request).toMatchObject({ server: 'orders-db', tool: 'apply_migration' });
    expect((await stage.decide(request, 'allow')).code).toBe('accepted');
    expect(effectsOf(stage.tools, 'ADD all')).toBe(0);
    const done = await collected(client, TOOL, migration('ADD all'));
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId });
    expect(effectsOf(stage.tools, 'ADD all')).toBe(1);
  });

  it('is the same operation as one through the server’s own endpoint [NAME-4]', async () => {
    const [all, one] = [await stage.all(), await stage.client()];
    const [through, plain] = [
      approvalOf(await callTool(all, TOOL, migration('ADD same'))),
      approvalOf(await callTool(one, 'apply_migration', migration('ADD same'))),
    ];
    expect(through).toMatchObject({
      status: 'pending',
      operationId: plain.operationId,
      digest: plain['digest'],
      rule: plain['rule'],
    });
    const same = (await openRequests(stage)).filter(({ arguments: given }) => given['sql'] === 'ADD same');
    expect(same).toHaveLength(1);
    await stage.decide(await openRequest(stage, 'ADD same'), 'allow');
    const done = await collected(one, 'apply_migration', migration('ADD same'));
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId: through.operationId });
    const again = await callTool(all, TOOL, migration('ADD same'));
    expect(approvalOf(again)).toMatchObject({ status: 'approved', operationId: through.operationId });
    expect(textOf(again)).toContain('NOT RUN AGAIN');
    expect(effectsOf(stage.tools, 'ADD same')).toBe(1);
  });

  it('runs on the client’s own session where the server wants that, and is bound to what its roots are [NAME-4]', async () => {
    const served = await startFeatureServer();
    const own = await startAggregateStage();
    await own.apply({
      servers: {
        features: `{ http: { url: '${served.url}' }, session: client, tools: { write: {} } }`,
        notes: scripted({ label: 'notes' }),
      },
      rules: RULE.replace('orders-db', 'features').replace('apply_migration', 'write').replace('material', 'arguments'),
    });
    const options = { capabilities: { roots: { listChanged: true } } };
    const prepare = (client: Client) =>
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///own' }] }));
    const client = await own.all({ options, prepare });
    await callTool(client, 'features__where', {});
    const { operationId } = approvalOf(await callTool(client, 'features__write', {}));
    await own.decide(await openRequest(own, operationId), 'allow');
    const done = await collected(client, 'features__write', {});
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId });
    expect(served.written.map(({ roots }) => roots)).toEqual([['file:///own']]);
    await own.close();
    await served.close();
  });

  it('is asked about by the rule of its server, and not of another with a tool of that name', async () => {
    const client = await stage.all();
    const free = await callTool(client, 'notes__apply_migration', migration('ADD note'));
    expect(textOf(free)).toMatch(/^notes: /);
    expect(pendingApproval(free)).toBeNull();
  });

  it('that was denied says so, in the words of the reviewer', async () => {
    const client = await stage.all();
    await callTool(client, TOOL, migration('DROP all'));
    await stage.decide(await openRequest(stage, 'DROP all'), 'deny', { reason: 'not today' });
    const denied = await collected(client, TOOL, migration('DROP all'));
    expect(denied.isError).toBe(true);
    expect(textOf(denied)).toContain('not today');
  });

  it('is not run for a client that has left: nobody would take its result', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 60_000 });
    const client = await stage.all({ gateway: patient });
    const left = new AbortController();
    const call = client.callTool({ name: TOOL, arguments: migration('ADD left') }, undefined, { signal: left.signal });
    const request = await openRequest(stage, 'ADD left');
    left.abort();
    await expect(call).rejects.toThrow();
    await client.close();
    await stage.decide(request, 'allow');
    const again = await stage.all({ gateway: patient });
    expect(effectsOf(stage.tools, 'ADD left')).toBe(0);
    const done = await collected(again, TOOL, migration('ADD left'));
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId: request.operationId });
    expect(effectsOf(stage.tools, 'ADD left')).toBe(1);
  });

  it('is not run for a client whose connection broke without a word', async () => {
    const client = await stage.raw();
    const waiting = stage.tools.runs.length;
    const call = await client.post(
      JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name: TOOL, arguments: migration('ADD broken') },
      }),
    );
    const request = await openRequest(stage, 'ADD broken');
    call.leave();
    await eventually(async () =>
      expect((await client.post('{"jsonrpc":"2.0","id":2,"method":"ping"}')).status).toBe(200),
    );
    await stage.decide(request, 'allow');
    const other = await stage.all();
    await callTool(other, 'orders-db__read_rows', { table: 'orders' });
    expect(stage.tools.runs).toHaveLength(waiting);
    const done = await collected(other, TOOL, migration('ADD broken'));
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId: request.operationId });
  });

  it('is not run once its client has cancelled it', async () => {
    const client = await stage.raw();
    const params = { name: TOOL, arguments: migration('ADD cancelled') };
    const call = await client.post(JSON.stringify({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params }));
    const request = await openRequest(stage, 'ADD cancelled');
    await client.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}');
    await stage.decide(request, 'allow');
    const other = await stage.all();
    await callTool(other, 'orders-db__read_rows', { table: 'orders' });
    expect(effectsOf(stage.tools, 'ADD cancelled')).toBe(0);
    const done = await collected(other, TOOL, migration('ADD cancelled'));
    expect(textOf(done)).not.toContain('NOT RUN AGAIN');
    expect(effectsOf(stage.tools, 'ADD cancelled')).toBe(1);
    expect(call.messages).toEqual([]);
  });

  it('joins an identical one of another client of the requester, and both get the one result', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const clients = [await stage.all({ gateway: patient }), await stage.all({ gateway: patient })];
    const calls = clients.map((client) => callTool(client, TOOL, migration('ADD both')));
    await stage.decide(await openRequest(stage, 'ADD both'), 'allow');
    const results = await Promise.all(calls);
    expect(results.map((result) => approvalOf(result).status)).toEqual(['approved', 'approved']);
    expect(effectsOf(stage.tools, 'ADD both')).toBe(1);
  });

  it('is refused in the words of the gate where it may not be made so', async () => {
    const client = await stage.all({ subject: 'u2' });
    const refused = await callTool(client, TOOL, { ...migration('ADD own'), operation_id: 'op_mine' });
    expect(refused.isError).toBe(true);
    expect(approvalOf(refused)).toMatchObject({ status: 'refused', code: 'ARGUMENT_RESERVED' });
  });
});
