import { randomUUID } from 'node:crypto';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { eventually } from '../support/eventually';
import {
  allow,
  endGatewayProcesses,
  memoryOf,
  openRequestWith,
  startGatewayProcess,
  type GatewayProcess,
} from '../support/gateway-kill-stage';
import { applyPolicyText } from '../support/gateway-policy';
import { callText, effectsOf, openRequests, parsed, rawClient } from '../support/gateway-rows';
import { callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { openStream, startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';

const MIB = 1_048_576;
const CAP = 4 * MIB;
const PEOPLE = Array.from({ length: 20 }, (_, at) => `p${at}`);

let stage: GatewayStage;
let limited: GatewayProcess;
let upstream: RawMcpServer;
/** What the upstream does with a stream that a client opens by GET. */
let stream: (response: ServerResponse) => void = (response) => void response.writeHead(405).end();
beforeAll(async () => {
  stage = await startGatewayStage();
  upstream = await startRawMcpServer(({ verb, message }, response) => {
    if (verb === 'GET') {
      stream(response);
      return true;
    }
    if (message?.method === 'initialize') response.setHeader('mcp-session-id', randomUUID());
    return false;
  });
  await applyPolicyText(stage, policy());
  limited = await startGatewayProcess(stage, { edge: { waitForMs: 60_000 } });
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await stage.close();
  await upstream.close();
});

const raw = (server: string, subject = 'u1') => rawClient(stage, { server, subject, gateway: limited.gateway });

/** How long an ungated call takes now; the middle one of nine. */
async function latencyMs(): Promise<number> {
  const client = await stage.client({ gateway: limited.gateway });
  const times: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    const sinceMs = performance.now();
    await callTool(client, 'read_rows', { table: 'orders' });
    times.push(performance.now() - sinceMs);
  }
  return times.sort((a, b) => a - b)[4] ?? Infinity;
}

describe('a body', () => {
  const padded = (bytes: number) => '{"jsonrpc":"2.0","id":1,"method":"ping"}'.padEnd(bytes, ' ');

  it('of 4 MiB is taken, one byte more is not, however it is sent', async () => {
    const client = await raw('orders-db');
    const [whole, longer] = [await client.post(padded(CAP)), await client.post(padded(CAP + 1))];
    expect((await parsed(Promise.resolve(whole)))[0]).toMatchObject({ id: 1, result: {} });
    expect(longer.status).toBe(413);
    const chunked = await client.post(padded(CAP + 1), { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined });
    expect(chunked.status).toBe(413);
  });

  it('that is too long leaves nothing behind, 60 times', async () => {
    const client = await raw('orders-db');
    const body = padded(CAP + MIB);
    for (let times = 0; times < 10; times += 1) await (await client.post(body)).ended;
    const before = await memoryOf(limited);
    for (let times = 0; times < 60; times += 1) {
      const answer = await client.post(body);
      await answer.ended;
      expect(answer.status).toBe(413);
    }
    expect(await memoryOf(limited)).toBeLessThan(before + 8 * MIB);
  });
});

describe('sessions', () => {
  it('that are opened and dropped leave nothing behind, 1,000 times', async () => {
    const open = async (times: number): Promise<void> => {
      for (let count = 0; count < times; count += 10) {
        await Promise.all(Array.from({ length: 10 }, () => client.initialise()));
      }
    };
    const client = await raw('raw');
    await open(200);
    const before = await memoryOf(limited);
    await open(1_000);
    expect(await memoryOf(limited)).toBeLessThan(before + 8 * MIB);
  });
});

describe('a client that does not read', () => {
  it('its stream of news holds the upstream up, not the memory of the gateway', async () => {
    const event = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(65_536)}"}}\n\n`;
    const sent = { bytes: 0, isHeldUp: false };
    stream = (response) => {
      openStream(response);
      const push = (): void => {
        sent.isHeldUp = false;
        while (sent.bytes < 400 * MIB && !response.destroyed) {
          sent.bytes += event.length;
          if (response.write(event)) continue;
          sent.isHeldUp = true;
          response.once('drain', push);
          return;
        }
      };
      push();
    };
    const client = await raw('raw');
    const before = await memoryOf(limited);
    const leave = await unreadStream(client.session ?? '');
    let last = -1;
    await eventually(() => {
      const isStill = sent.isHeldUp && sent.bytes === last;
      last = sent.bytes;
      if (!isStill) throw new Error(`${sent.bytes} bytes so far`);
    });
    expect(sent.bytes).toBeLessThan(64 * MIB);
    expect(await memoryOf(limited)).toBeLessThan(before + 24 * MIB);
    expect(await latencyMs()).toBeLessThan(250);
    leave();
  });

  /** Opens a stream and reads nothing of it; @returns how to leave. */
  function unreadStream(session: string): Promise<() => void> {
    const headers = {
      accept: 'text/event-stream',
      authorization: `Bearer ${stage.token('u1')}`,
      'mcp-session-id': session,
    };
    return new Promise((resolve, reject) => {
      const asked = httpRequest(`${limited.gateway.url}/mcp/raw`, { headers, agent: false });
      asked.on('error', reject);
      asked.on('response', (response) => {
        response.pause();
        response.on('error', () => undefined);
        resolve(() => response.destroy());
      });
      asked.end();
    });
  }
});

describe('an upstream whose event never ends', () => {
  it('is left, and costs the gateway no more than the longest answer', async () => {
    const sent = { bytes: 0, isLeft: false };
    stream = (response) => {
      response.on('close', () => (sent.isLeft = true));
      openStream(response).write('data: "');
      const push = (): void => {
        while (sent.bytes < 200 * MIB && !response.destroyed) {
          sent.bytes += 65_536;
          if (response.write('x'.repeat(65_536))) continue;
          response.once('drain', push);
          return;
        }
      };
      push();
    };
    const client = await raw('raw');
    const answer = await client.get();
    await eventually(() => expect(sent.isLeft).toBe(true), 20_000);
    answer.leave();
    expect(sent.bytes).toBeLessThan(100 * MIB);
  });
});

describe('requests that never end', () => {
  it('300 of them keep no other from its answer', async () => {
    const port = Number(new URL(limited.gateway.url).port);
    const sockets: Socket[] = [];
    for (let count = 0; count < 300; count += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      const isHeader = count % 2 === 0;
      socket.write(
        `POST /mcp/orders-db HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${isHeader ? 'h' : stage.token('u1')}\r\n`,
      );
      if (!isHeader) socket.write('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"js');
      sockets.push(socket);
    }
    expect(await latencyMs()).toBeLessThan(250);
    for (const socket of sockets) socket.destroy();
  });
});

describe('200 calls that wait at once at one gateway', () => {
  it('keep no other from its answer, cost less than 300 kB each, and each is answered once it may run [DUR-05]', async () => {
    const before = await memoryOf(limited);
    const clients = await Promise.all(PEOPLE.map((subject) => raw('orders-db', subject)));
    const answers = clients.flatMap((client, person) =>
      Array.from({ length: 10 }, (_, nr) =>
        client.post(callText(nr, 'apply_migration', { environment: 'production', sql: `L ${person}.${nr};` })),
      ),
    );
    await eventually(async () => expect(await openRequests(stage)).toHaveLength(200), 60_000);
    expect(await latencyMs()).toBeLessThan(250);
    expect(await memoryOf(limited)).toBeLessThan(before + 200 * 300_000);
    const [some] = await parsed(allowed('L 7.7;', answers[77]));
    expect(some).toMatchObject({ id: 7, result: { structuredContent: { done: true } } });
    expect(effectsOf(stage.tools, 'L 7.7;')).toBe(1);

    // As many tools as a gateway runs at once are under way, and then one more call comes.
    stage.tools.behave('apply_migration', { kind: 'hold' });
    const open = (await openRequests(stage)).slice(0, 100);
    for (let at = 0; at < open.length; at += 20) {
      await Promise.all(open.slice(at, at + 20).map((request) => allow(stage, request)));
    }
    await eventually(() => expect(stage.tools.receivedBy('apply_migration')).toHaveLength(101), 30_000);
    const late = (await raw('orders-db')).post(callText(1, 'apply_migration', { environment: 'x', sql: 'L late;' }));
    await allow(stage, await openRequestWith(stage, 'L late;'));
    expect(effectsOf(stage.tools, 'L late;')).toBe(0);
    stage.tools.behave('apply_migration', undefined);
    stage.tools.release('apply_migration');
    const sinceMs = performance.now();
    expect((await parsed(late))[0]).toMatchObject({ id: 1, result: { structuredContent: { done: true } } });
    expect(performance.now() - sinceMs).toBeLessThan(20_000);

    const ends = Promise.allSettled(answers);
    await limited.child.kill9();
    expect((await ends).filter(({ status }) => status === 'fulfilled')).toHaveLength(101);
  });

  async function allowed<T>(text: string, answer: Promise<T> | undefined): Promise<T> {
    await allow(stage, await openRequestWith(stage, text));
    return answer ?? Promise.reject(new Error('there are 200'));
  }
});

function policy(): string {
  return `trust: namespace
people:
  r1: { groups: [dba] }
  u1: { groups: [platform] }
${PEOPLE.map((name) => `  ${name}: { groups: [platform] }`).join('\n')}
servers:
  raw:
    http: { url: '${upstream.url}' }
    tools: { act: { destructive: false } }
  orders-db:
    http: { url: '${stage.tools.url}' }
    tools:
      read_rows: { destructive: false }
      apply_migration: { arguments: { operation_id: { fill: operationId } } }
access:
  - { subjects: ['group:platform'], agents: ['*'], server: raw, tools: ['*'] }
  - { subjects: ['group:platform'], agents: ['*'], server: orders-db, tools: ['*'] }
rules:
  - id: ask
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { groups: [dba], quorum: 1 }
    bind: arguments
    validity: once
    deadline: { after: 30m, then: expire }
`;
}
