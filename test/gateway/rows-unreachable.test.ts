import { CreateTaskResultSchema, GetTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  called,
  callText,
  collected,
  effectsOf,
  migration,
  openRequest,
  parsed,
  rawClient,
} from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { eventually } from '../support/eventually';
import { RawClient } from '../support/gateway-stdio-client';
import { withdrawOpen } from '../support/messages';
import { freshPlace, type FreshPlace } from '../support/stores';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

let stage: GatewayStage;
let place: FreshPlace;
let ledger: TcpProxy;
let temporal: TcpProxy;
let settings: { readonly ledgerUrl: string; readonly temporal: GatewayStage['settings']['temporal'] };
beforeAll(async () => {
  place = await freshPlace('postgres');
  stage = await startGatewayStage({ waitForMs: 600, ledgerUrl: place.url });
  const at = new URL(place.url);
  ledger = await startTcpProxy({ host: at.hostname, port: Number(at.port) });
  const [host = '', port] = stage.settings.temporal.address.split(':');
  temporal = await startTcpProxy({ host, port: Number(port) });
  const proxied = new URL(place.url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(ledger.port);
  settings = {
    ledgerUrl: proxied.href,
    temporal: { ...stage.settings.temporal, address: `127.0.0.1:${temporal.port}` },
  };
});
afterAll(async () => {
  await stage.close();
  await Promise.all([ledger.cut(), temporal.cut()]);
  await place.remove();
});
afterEach(() => withdrawOpen(stage));

const ran = (sql: string) => effectsOf(stage.tools, sql);
const allow = async (sql: string) => {
  const request = await openRequest(stage, sql);
  expect((await stage.decide(request, 'allow')).code).toBe('accepted');
  return request;
};
const callsHeld = (sql: string) =>
  eventually(() => {
    const found = stage.tools.received.filter(({ arguments: given }) => given['sql'] === sql);
    expect(found).toHaveLength(1);
  });

// First of all: Temporal's client must not be closed in the pause before a next try, which goes on without it.
describe('a Temporal that goes away while the gateway runs', () => {
  it('has new protected calls neither asked about nor run; once it is back they are asked about', async () => {
    const gateway = await stage.anotherGateway({}, { settings });
    const client = await stage.client({ gateway });
    await temporal.cut();
    const told = await callTool(client, 'apply_migration', migration('no temporal'));
    expect(textOf(told)).toMatch(/^NOT EXECUTED: this call needs to be put on record first/);
    expect(approvalOf(told)).toMatchObject({ status: 'pending', revision: null });
    expect(ran('no temporal')).toBe(0);
    // What asks nobody needs no Temporal.
    expect(textOf(await callTool(client, 'read_rows', {}))).toContain('chair');
    await temporal.mend();
    const pending = await eventually(async () => {
      const result = approvalOf(await called(client, 'apply_migration', migration('no temporal')));
      if (result.status !== 'pending') throw new Error(JSON.stringify(result));
      return result;
    }, 30_000);
    expect(pending.operationId).toMatch(/^op_/);
  });

  it('while a tool runs does not make its result be called a refusal', async () => {
    const gateway = await stage.anotherGateway({ waitForMs: 30_000 }, { settings });
    const client = await rawClient(stage, { gateway });
    stage.tools.behave('apply_migration', { kind: 'hold' }, 1);
    const answering = client.post(callText(1, 'apply_migration', migration('temporal gone')));
    const { operationId } = await allow('temporal gone');
    await callsHeld('temporal gone');
    await temporal.cut();
    stage.tools.release('apply_migration');
    const [message] = await parsed(answering);
    expect(message?.['result']).toMatchObject({
      structuredContent: { done: true },
      _meta: { 'dev.holdpoint/approval': { status: 'approved', operationId } },
    });
    await temporal.mend();
    expect(ran('temporal gone')).toBe(1);
  });

  it('after a call was sent has its identical call told that it is in progress, not refused', async () => {
    const gateway = await stage.anotherGateway({ waitForMs: 1_500 }, { settings });
    const [first, second] = [await rawClient(stage, { gateway }), await stage.client({ gateway })];
    stage.tools.behave('apply_migration', { kind: 'hold' }, 1);
    const answering = first.post(callText(1, 'apply_migration', migration('sent before')));
    const { operationId } = await allow('sent before');
    await callsHeld('sent before');
    await temporal.cut();
    const told = await callTool(second, 'apply_migration', migration('sent before'));
    expect(approvalOf(told)).toMatchObject({ status: 'running', operationId });
    expect(textOf(told)).toContain('IN PROGRESS');
    stage.tools.release('apply_migration');
    await parsed(answering);
    await temporal.mend();
    expect(ran('sent before')).toBe(1);
  });

  it('has a task that cannot be cancelled now told so as an error, and not as a result', async () => {
    stage.tools.changeTool('apply_migration', { execution: { taskSupport: 'optional' } });
    const client = await stage.client({ gateway: await stage.anotherGateway({}, { settings }) });
    const params = { name: 'apply_migration', arguments: migration('cancelled'), task: { ttl: 60_000 } };
    const { task } = await client.request({ method: 'tools/call', params }, CreateTaskResultSchema);
    await openRequest(stage, 'cancelled');
    await temporal.cut();
    const { taskId } = task;
    const cancelling = client.request({ method: 'tasks/cancel', params: { taskId } }, GetTaskResultSchema);
    await expect(cancelling).rejects.toThrow(/TEMPORAL_UNREACHABLE/);
    await temporal.mend();
    expect(ran('cancelled')).toBe(0);
  });
});

describe('a gateway that is started while the ledger is away', () => {
  it('refuses every call, saying which store, and is there once the store is [DUR-08]', async () => {
    await ledger.cut();
    const gateway = await stage.anotherGateway({}, { settings });
    const headers = { Authorization: `Bearer ${stage.token('u1')}` };
    const client = new RawClient(new URL(`${gateway.url}/mcp/orders-db`), { headers });
    const received = stage.tools.received.length;
    for (const tool of ['read_rows', 'apply_migration']) {
      const answer = await client.call('1', tool, JSON.stringify(migration('too early')));
      expect(answer.status).toBe(503);
      const [message] = await parsed(Promise.resolve(answer));
      expect(JSON.stringify(message)).toMatch(/NOT executed: The ledger postgres.* cannot be reached/);
      expect(JSON.stringify(message)).not.toContain(new URL(place.url).password || 'no password');
    }
    expect(stage.tools.received).toHaveLength(received);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(503);
    await ledger.mend();
    await eventually(async () => expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200), 20_000);
    await client.initialise();
    expect((await client.call('1', 'read_rows', '{}')).status).toBe(200);
  });

  it('does the same while Temporal is away [DUR-08]', async () => {
    await temporal.cut();
    const gateway = await stage.anotherGateway({}, { settings });
    const headers = { Authorization: `Bearer ${stage.token('u1')}` };
    const client = new RawClient(new URL(`${gateway.url}/mcp/orders-db`), { headers });
    const answer = await client.call('1', 'read_rows', '{}');
    expect(answer.status).toBe(503);
    expect(JSON.stringify(await parsed(Promise.resolve(answer)))).toContain('The Temporal server cannot be reached');
    await temporal.mend();
    await eventually(async () => expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200), 30_000);
  });
});

describe('a ledger that goes away while the gateway runs', () => {
  it('has every call refused, in words that name it, and nothing runs [BYPASS-5]', async () => {
    const gateway = await stage.anotherGateway({}, { settings });
    const client = await rawClient(stage, { gateway });
    await ledger.cut();
    for (const tool of ['read_rows', 'apply_migration']) {
      const answer = await client.call('1', tool, JSON.stringify(migration('cut')));
      expect(answer.status).toBe(503);
      expect(JSON.stringify(await parsed(Promise.resolve(answer)))).toMatch(
        /NOT executed: The ledger postgres.* cannot be reached/,
      );
    }
    await ledger.mend();
    expect(ran('cut')).toBe(0);
    await eventually(async () => expect((await client.call('1', 'read_rows', '{}')).status).toBe(200));
  });

  it('while a tool runs does not make its result be called a refusal', async () => {
    const gateway = await stage.anotherGateway({ waitForMs: 30_000 }, { settings });
    const client = await rawClient(stage, { gateway });
    stage.tools.behave('apply_migration', { kind: 'hold' }, 1);
    const answering = client.post(callText(1, 'apply_migration', migration('ledger gone')));
    const { operationId } = await allow('ledger gone');
    await callsHeld('ledger gone');
    await ledger.cut();
    stage.tools.release('apply_migration');
    const [message] = await parsed(answering);
    expect(message?.['result']).toMatchObject({
      structuredContent: { done: true },
      _meta: { 'dev.holdpoint/approval': { status: 'approved', operationId } },
    });
    await ledger.mend();
    const again = await collected(await stage.client(), 'apply_migration', migration('ledger gone'));
    expect(approvalOf(again)).toMatchObject({ status: 'approved', operationId });
    expect(ran('ledger gone')).toBe(1);
  });

  it('while a tool that never answers runs, is told as in progress or not known, not as refused', async () => {
    const gateway = await stage.anotherGateway({ waitForMs: 4_000 }, { settings });
    const client = await rawClient(stage, { gateway });
    stage.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    const answering = client.post(callText(1, 'send_mail', { to: 'gone', sql: 'mail gone' }));
    const request = await eventually(async () => openRequest(stage, 'mail gone'));
    await stage.decide(request, 'allow');
    await eventually(() => expect(stage.tools.runsOf('send_mail')).toHaveLength(1));
    await ledger.cut();
    const [message] = await parsed(answering);
    expect(JSON.stringify(message)).not.toContain('REFUSED:');
    expect(JSON.stringify(message)).not.toContain('NOT EXECUTED');
    expect(JSON.stringify(message)).toMatch(/IN PROGRESS|NOT KNOWN|OUTCOME UNKNOWN/);
    await ledger.mend();
    expect(stage.tools.runsOf('send_mail')).toHaveLength(1);
  });
});
