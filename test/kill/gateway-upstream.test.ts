import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { eventually } from '../support/eventually';
import { allow, countedFacts, openRequestWith, toldUntilEnd } from '../support/gateway-kill-stage';
import { applyPolicyText } from '../support/gateway-policy';
import { applyKillPolicy } from '../support/gateway-kill-policy';
import { migration } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { eventOf, openStream, startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';

const SOON_MS = 500;
const NOT_KNOWN = /Whether the call was carried out is not known: find out before you repeat it/;

/** What a call fails with, and how long after `at` it did. */
async function failureOf(call: Promise<unknown>, at: () => number): Promise<{ text: string; afterMs: number }> {
  const text = await call.then((answer) => `answered: ${JSON.stringify(answer)}`, String);
  return { text, afterMs: performance.now() - at() };
}

describe('an unprotected call whose upstream dies', () => {
  let stage: GatewayStage;
  let upstream: RawMcpServer;
  let client: Client;
  let die: (response: ServerResponse) => void = () => undefined;
  let diedAtMs = 0;
  beforeAll(async () => {
    stage = await startGatewayStage();
    upstream = await startRawMcpServer(({ message }, response) => {
      if (message?.method !== 'tools/call') return false;
      diedAtMs = performance.now();
      die(response);
      return true;
    });
    const policy = policyOf(`http: { url: '${upstream.url}' }`, '{ act: { destructive: false } }');
    await applyPolicyText(stage, policy);
    client = await stage.client({ server: 'dying' });
  }, 60_000);
  afterAll(async () => {
    await stage.close();
    await upstream.close();
  });

  const cutLater = (response: ServerResponse): void => {
    setImmediate(() => {
      diedAtMs = performance.now();
      response.destroy();
    });
  };
  const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'run id: 7' } };

  it.each([
    ['before it answers', (response: ServerResponse) => void response.destroy()],
    [
      'at the begin of its stream',
      (response: ServerResponse) => {
        openStream(response).flushHeaders();
        cutLater(response);
      },
    ],
    [
      'after a notification that speaks of an id',
      (response: ServerResponse) => void openStream(response).write(eventOf(note), () => cutLater(response)),
    ],
    [
      'in the middle of an event',
      (response: ServerResponse) =>
        void openStream(response).write('event: message\ndata: {"jsonrpc":"2.0","id":', () => cutLater(response)),
    ],
    [
      'by ending its stream without an answer',
      (response: ServerResponse) => void openStream(response).end(eventOf(note)),
    ],
  ])('%s gets an error at once that says that its outcome is not known', async (_when, dies) => {
    die = dies;
    const { text, afterMs } = await failureOf(callTool(client, 'act', {}), () => diedAtMs);
    expect(text).toMatch(NOT_KNOWN);
    expect(afterMs).toBeLessThan(SOON_MS);
  });

  it('in the middle of a JSON body fails at once', async () => {
    die = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
      response.write('{"jsonrpc":"2.0",', () => cutLater(response));
    };
    const { text, afterMs } = await failureOf(callTool(client, 'act', {}), () => diedAtMs);
    expect(text).not.toMatch(/^answered|not executed/i);
    expect(afterMs).toBeLessThan(SOON_MS);
  });

  it('before it was asked is told that nothing was sent', async () => {
    await callTool(client, 'act', {}).catch(() => undefined);
    await upstream.close();
    const sinceMs = performance.now();
    const { text, afterMs } = await failureOf(callTool(client, 'act', {}), () => sinceMs);
    expect(text).toContain('nothing was sent to it');
    expect(afterMs).toBeLessThan(SOON_MS);
  });
});

describe('a server on stdio whose process is killed', () => {
  const script = join(__dirname, '../support/stdio-tool-server.cjs');
  const stdio = `stdio: { command: '${process.execPath}', args: ['${script}'] }`;
  let stage: GatewayStage;
  beforeAll(async () => {
    stage = await startGatewayStage({ waitForMs: 300 });
  }, 60_000);
  afterAll(() => stage.close());

  const pidOf = async (client: Client): Promise<number> => Number(textOf(await callTool(client, 'pid', {})));

  it('in mid-call gives an unprotected call an error at once that says that its outcome is not known', async () => {
    await applyPolicyText(stage, policyOf(stdio, '{ pid: { destructive: false }, hang: { destructive: false } }'));
    const client = await stage.client({ server: 'dying' });
    const pid = await pidOf(client);
    const call = callTool(client, 'hang', {}).then(JSON.stringify, String);
    // Its server reads in order: the first call is under way once a second one is answered.
    await pidOf(client);
    const sinceMs = performance.now();
    process.kill(pid, 'SIGKILL');
    expect(await call).toMatch(/not known/);
    expect(performance.now() - sinceMs).toBeLessThan(SOON_MS);
  });

  it('while it runs a protected call that cannot be looked up: unknown, asked once, never failed [GATE-4] [EXEC-15]', async () => {
    const tools = '{ pid: { destructive: false }, hang: { timeout: 2s } }';
    await applyPolicyText(stage, policyOf(stdio, tools, 'hang'));
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const client = await stage.client({ server: 'dying', gateway: patient });
    const pid = await pidOf(client);
    const call = callTool(client, 'hang', { nr: 1 });
    const request = await openRequestWith(stage, '"nr":1');
    await allow(stage, request);
    const dispatched = () => expect(stage.ledger.operation(request.operationId)).resolves.not.toBeNull();
    await eventually(dispatched);
    await pidOf(client);
    process.kill(pid, 'SIGKILL');
    expect(textOf(await call)).toMatch(/^(IN PROGRESS|OUTCOME UNKNOWN): /);
    // Its session ended with the process: the client has to begin another one.
    const { end } = await toldUntilEnd(await stage.client({ server: 'dying' }), 'hang', { nr: 1 });
    expect(approvalOf(end)).toMatchObject({ status: 'unknown', operationId: request.operationId });
    expect(await countedFacts(stage, request.operationId)).toMatchObject({ 'request.opened': 1 });
  });
});

function policyOf(transport: string, tools: string, asked?: string): string {
  const rule = `  - id: ask
    server: dying
    scope: { tools: [${asked ?? ''}] }
    approvers: { groups: [dba], quorum: 1 }
    bind: arguments
    validity: once
    deadline: { after: 30m, then: expire }`;
  return `trust: namespace
people:
  r1: { groups: [dba] }
  u1: { groups: [platform] }
servers:
  dying:
    ${transport}
    session: client
    tools: ${tools}
access:
  - { subjects: ['group:platform'], agents: ['*'], server: dying, tools: ['*'] }
rules:${asked === undefined ? ' []' : `\n${rule}`}
`;
}

describe('a protected call whose upstream dies', () => {
  let stage: GatewayStage;
  beforeAll(async () => {
    stage = await startGatewayStage({ waitForMs: 300 });
    await applyKillPolicy(stage);
  }, 60_000);
  afterAll(() => stage.close());

  /** Allows a call, stops the tool server while it is under way, and makes the same call until it has ended. */
  async function stopped(tool: 'apply_migration' | 'send_mail', name: string, isBack: boolean) {
    const given = tool === 'send_mail' ? { to: name } : migration(name);
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const first = callTool(await stage.client({ gateway: patient }), tool, given);
    const { operationId } = await openRequestWith(stage, name).then(async (request) => {
      await allow(stage, request);
      return request;
    });
    await eventually(() => expect(stage.tools.receivedBy(tool).at(-1)?.operationId).toBe(operationId));
    await stage.tools.stop();
    if (isBack) await stage.tools.start();
    const answer = await first;
    if (!isBack)
      await eventually(
        async () => expect(await stage.ledger.operation(operationId)).toMatchObject({ state: 'unknown' }),
        30_000,
      );
    if (!isBack) await stage.tools.start();
    const isOver = approvalOf(answer).status !== 'running';
    const told = isOver
      ? { status: approvalOf(answer).status, text: textOf(answer), end: answer }
      : await toldUntilEnd(await stage.client(), tool, given);
    expect(approvalOf(told.end).operationId).toBe(operationId);
    const facts = await countedFacts(stage, operationId);
    expect(facts).toMatchObject({ 'request.opened': 1, 'grant.issued': 1 });
    return {
      ...told,
      first: textOf(answer),
      runs: stage.tools.runs.filter((run) => run.operationId === operationId).length,
    };
  }

  it('after the effect is looked up: executed, one effect [GATE-4]', async () => {
    stage.tools.behave('apply_migration', { kind: 'commitThenSilent' }, 1);
    const ended = await stopped('apply_migration', 'U effect', true);
    expect(ended).toMatchObject({ status: 'approved', runs: 1 });
    expect(ended.first).toMatch(/^(IN PROGRESS|EXECUTED): /);
  });

  it('before the effect is looked up: proven absent [GATE-4]', async () => {
    stage.tools.behave('apply_migration', { kind: 'hang' }, 1);
    const ended = await stopped('apply_migration', 'U none', true);
    expect(ended).toMatchObject({ status: 'failed', runs: 0 });
    expect(ended.text).toContain('A look-up found that it had no effect');
    expect(ended.first).toMatch(/^(IN PROGRESS|FAILED): /);
  });

  it('and stays away is unknown, never failed [GATE-4] [EXEC-15]', async () => {
    stage.tools.behave('apply_migration', { kind: 'commitThenSilent' }, 1);
    const ended = await stopped('apply_migration', 'U away', false);
    expect(ended).toMatchObject({ status: 'unknown', runs: 1 });
    expect(ended.first).toMatch(/^(IN PROGRESS|OUTCOME UNKNOWN): /);
  });

  it('and cannot be looked up is unknown, never failed [GATE-4] [EXEC-15]', async () => {
    stage.tools.behave('send_mail', { kind: 'commitThenSilent' }, 1);
    const ended = await stopped('send_mail', 'u-mail@example.org', true);
    expect(ended).toMatchObject({ status: 'unknown', runs: 1 });
    expect(ended.first).toMatch(/^(IN PROGRESS|OUTCOME UNKNOWN): /);
  });
});
