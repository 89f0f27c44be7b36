import type { ServerResponse } from 'node:http';
import { applyGatewayPolicy } from '../support/gateway-policy';
import { HOSTILE_LISTS, LIST_SEEDS } from '../support/gateway-kill-lists';
import { mutations } from '../support/gateway-kill-mutations';
import { endGatewayProcesses, startGatewayProcess, type GatewayProcess } from '../support/gateway-kill-stage';
import { callText, rawClient } from '../support/gateway-rows';
import { startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';

const MUTATED = 400;

let stage: GatewayStage;
let listed: GatewayProcess;
let upstream: RawMcpServer;
/** What the upstream answers to `tools/list`, to the byte after the id. */
let answer: (id: number, response: ServerResponse) => void;
beforeAll(async () => {
  stage = await startGatewayStage();
  upstream = await startRawMcpServer(({ message }, response) => {
    if (message?.method !== 'tools/list' || message.id === undefined) return false;
    answer(message.id, response);
    return true;
  });
  const tools = '{ act: {} }';
  await applyGatewayPolicy(stage, {
    servers: { hostile: { url: upstream.url, tools } },
    scope: 'all',
    bind: 'arguments',
  });
  listed = await startGatewayProcess(stage, { edge: { waitForMs: 20 } });
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await stage.close();
  await upstream.close();
});

const asJson = (result: string) => (id: number, response: ServerResponse) =>
  void response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
const asEvent = (result: string) => (id: number, response: ServerResponse) =>
  void response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(`event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`);

/** Lists and calls; both have to be answered, whatever with, and the call may not get to the upstream. */
async function listAndCall(): Promise<string> {
  const client = await rawClient(stage, { server: 'hostile', gateway: listed.gateway });
  const list = await client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}').catch(String);
  if (typeof list !== 'string') await list.ended;
  const call = await client.post(callText(2, 'act', {}));
  await call.ended;
  expect(call.messages.join()).toMatch(/NOT EXECUTED|not executed/i);
  expect(upstream.methods()).not.toContain('tools/call');
  return typeof list === 'string' ? list : list.messages.join();
}

async function isWell(): Promise<void> {
  expect((await fetch(`${listed.gateway.url}/healthz`)).status).toBe(200);
}

describe('an upstream that lists', () => {
  afterEach(isWell);

  it.each(Object.keys(HOSTILE_LISTS))('%s ends no gateway, and its tool is not run', async (name) => {
    for (const form of [asJson, asEvent]) {
      answer = form(HOSTILE_LISTS[name] ?? '');
      const sinceMs = performance.now();
      await listAndCall();
      expect(performance.now() - sinceMs).toBeLessThan(8_000);
    }
  });

  it.each([
    [
      'nothing',
      (_id: number, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(),
    ],
    [
      'half an answer',
      (id: number, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' });
        response.write(`{"jsonrpc":"2.0","id":${id},`);
        setTimeout(() => response.destroy(), 20);
      },
    ],
    [
      'bytes that are no text',
      (_id: number, response: ServerResponse) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(Buffer.from([0x22, 0xc3, 0x28, 0xff, 0x22])),
    ],
    [
      'what is not compressed as gzip',
      (_id: number, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('{}'),
    ],
    [
      'a page of HTML',
      (_id: number, response: ServerResponse) =>
        void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    ],
    [
      'an event without an end',
      (_id: number, response: ServerResponse) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`data: {"a":"${'x'.repeat(1_000_000)}`),
    ],
    [
      '10,000 notifications before its list',
      (id: number, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'.repeat(10_000));
        response.end(`data: {"jsonrpc":"2.0","id":${id},"result":${LIST_SEEDS[0] ?? ''}}\n\n`);
      },
    ],
    [
      'an answer to another request',
      (_id: number, response: ServerResponse) => asJson(LIST_SEEDS[0] ?? '')(999, response),
    ],
  ])('with %s ends no gateway, and its tool is not run', async (_name, answers) => {
    answer = answers;
    await listAndCall();
  });

  it(`${MUTATED} mutated lists ends no gateway, and what was JSON stays JSON`, async () => {
    const next = mutations(LIST_SEEDS, 99);
    const client = await rawClient(stage, { server: 'hostile', gateway: listed.gateway });
    for (let times = 0; times < MUTATED; times += 1) {
      const result = next();
      answer = (times % 2 === 0 ? asJson : asEvent)(times % 2 === 0 ? result : result.replace(/[\r\n]/g, ' '));
      const list = await client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}').catch(String);
      if (typeof list === 'string') continue;
      await list.ended;
      const wasJson = parses(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
      if (wasJson && list.messages.length === 1)
        expect({ result, stays: parses(list.messages[0] ?? '') }).toEqual({ result, stays: true });
    }
    expect(upstream.methods()).not.toContain('tools/call');
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
