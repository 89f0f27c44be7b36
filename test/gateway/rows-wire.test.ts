import { applyGatewayPolicy } from '../support/gateway-policy';
import { callText, callToCut, collected, openRequest, openRequests, parsed, rawClient } from '../support/gateway-rows';
import { approvalOf, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import type { RawClient } from '../support/gateway-stdio-client';
import { eventually } from '../support/eventually';
import { startFeatureServer, type FeatureServer } from '../support/feature-server';
import { eventOf, openStream, sendJson, startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';

let stage: GatewayStage;
let feature: FeatureServer;
let odd: RawMcpServer;
let closed = 0;
const big = 'é😀'.repeat(3_000);
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
  feature = await startFeatureServer();
  odd = await startRawMcpServer(({ message }, response) => {
    const { id, method } = message ?? {};
    if (method !== 'tools/call') return false;
    switch (message?.params?.['kind']) {
      case 'error':
        return sendJson(response, {
          jsonrpc: '2.0',
          id,
          error: { code: -32050, message: 'disk full', data: { vendor: 1 } },
        });
      case 'numbers':
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(
          `{"jsonrpc":"2.0","id": ${String(id)},"result":{"content":[],"n":9007199254740993,"m":1e400,"n":1.0}}`,
        );
        return true;
      case 'split': {
        const bytes = Buffer.from(eventOf({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: big }] } }));
        openStream(response);
        for (let at = 0; at < bytes.length; at += 4_095) response.write(bytes.subarray(at, at + 4_095));
        response.end();
        return true;
      }
      case 'dies':
        openStream(response).flushHeaders();
        setTimeout(() => response.destroy(), 50);
        return true;
      case 'open':
        openStream(response).flushHeaders();
        response.on('close', () => (closed += 1));
        return true;
      case 'diesBefore':
        response.destroy();
        return true;
      default:
        return false;
    }
  });
  await applyGatewayPolicy(stage, {
    servers: {
      'orders-db': { url: stage.tools.url },
      feature: { url: feature.url, tools: '{ write: {} }' },
      odd: { url: odd.url, tools: '{ act: {} }' },
    },
    rules: `  - id: orders
    server: orders-db
    scope: { tools: [apply_migration, delete_rows, send_mail] }
    approvers: { groups: [dba] }`,
  });
});
afterAll(async () => {
  await stage.close();
  await feature.close();
  await odd.close();
});

const slowCalls = () => feature.seen.filter(({ body }) => body?.params?.['name'] === 'slow').length;
const runs = (count: number) => eventually(() => expect(slowCalls()).toBe(count));

describe('progress', () => {
  it('goes to the client that asked for it, under its own token and type [WIRE-1]', async () => {
    const clients = [await rawClient(stage, { server: 'feature' }), await rawClient(stage, { server: 'feature' })];
    const before = slowCalls();
    const tokens = [1, '1'];
    const calls = clients.map((client, n) =>
      client.post(callText(7, 'slow', { n }, { _meta: { progressToken: tokens[n] } })),
    );
    await runs(before + 2);
    feature.release();
    for (const [n, answer] of (await Promise.all(calls)).entries()) {
      const messages = await parsed(Promise.resolve(answer));
      expect(messages.map((message) => message['params'])).toEqual([
        ...[1, 2].map((progress) => ({ progressToken: tokens[n], progress })),
        undefined,
      ]);
      expect(JSON.stringify(messages.at(-1))).toContain(`slow ${n}`);
    }
  });
});

describe('a cancel notice', () => {
  it.each([['7'], ['0'], ['"0"'], ['"a"']])(
    'of id %s reaches the call that runs upstream [WIRE-2] [WIRE-3]',
    async (id) => {
      const client = await rawClient(stage, { server: 'feature' });
      const before = slowCalls();
      void client.call(id, 'slow', `{"n":${JSON.stringify(id)}}`).catch(() => undefined);
      await runs(before + 1);
      const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
      expect((await client.post(notice)).status).toBe(202);
      const cancels = () => feature.seen.filter(({ body }) => body?.method === 'notifications/cancelled');
      await eventually(() => expect(cancels().at(-1)?.body?.params).toEqual({ requestId: JSON.parse(id) as unknown }));
      // The SDK's server takes 0 for no id; what it does with a notice is its own affair.
      if (id !== '0') await eventually(() => expect(feature.stopped).toContain(id));
      feature.release();
    },
  );

  const pendingCall = async (client: RawClient, id: string, sql: string) => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"apply_migration","arguments":{"environment":"production","sql":"${sql}"}}}`;
    const answer = client.post(body);
    return { answer, request: await openRequest(stage, sql) };
  };

  it.each([['7'], ['0'], ['"0"']])(
    'of id %s ends a call that waits: it is not sent, and the next identical one runs it once [WIRE-3] [WIRE-4]',
    async (id) => {
      const sql = `cancelled ${id.replaceAll('"', "'")}`;
      const patient = await stage.anotherGateway({ waitForMs: 20_000 });
      const client = await rawClient(stage, { gateway: patient });
      const { answer, request } = await pendingCall(client, id, sql);
      const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
      expect((await client.post(notice)).status).toBe(202);
      expect(await parsed(answer)).toEqual([]);
      expect(stage.tools.cancelled).toEqual([]);
      await allowedButNotRun(request.operationId, sql);
    },
  );

  it('that never comes, where the connection just drops, is the same [WIRE-4]', async () => {
    const sql = 'dropped';
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const body = callText(1, 'apply_migration', { environment: 'production', sql });
    const cut = await callToCut(stage, body, { gateway: patient });
    const { operationId } = await openRequest(stage, sql);
    cut.leave();
    await allowedButNotRun(operationId, sql);
  });

  async function allowedButNotRun(operationId: string, sql: string): Promise<void> {
    const effects = () => stage.tools.runs.filter(({ arguments: given }) => given['sql'] === sql).length;
    let turn = '';
    // Until the turn was told by the gateway that nobody is there.
    await eventually(async () => {
      const request = (await openRequests(stage)).find((each) => each.operationId === operationId);
      if (request !== undefined) expect((await stage.decide(request, 'allow')).code).toBe('accepted');
      turn = request?.workflowId ?? turn;
      if (!(await hasLookedForSomebody(turn))) throw new Error('the turn has not tried yet');
    });
    expect(effects()).toBe(0);
    const result = await collected(await stage.client(), 'apply_migration', { environment: 'production', sql });
    expect(approvalOf(result)).toMatchObject({ status: 'approved', operationId, replayed: false });
    expect(effects()).toBe(1);
  }
});

/** Whether an attempt to run the call of a turn has come back. */
async function hasLookedForSomebody(workflowId: string): Promise<boolean> {
  const { events } = await stage.holdpoint.client.workflow.getHandle(workflowId).fetchHistory();
  const runs = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'runTool',
  );
  return (events ?? []).some((event) =>
    runs.some((run) => event.activityTaskCompletedEventAttributes?.scheduledEventId?.equals(run.eventId ?? 0)),
  );
}

describe('an answer of the upstream', () => {
  const ask = async (kind: string, id = '5') => {
    const client = await rawClient(stage, { server: 'odd' });
    return client.post(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"act","kind":"${kind}","arguments":{}}}`,
    );
  };
  const whole = async (kind: string) => {
    const answer = await ask(kind);
    await answer.ended;
    return answer;
  };

  it('that is an error keeps its code, message and data [WIRE-6]', async () => {
    expect(await parsed(ask('error'))).toEqual([
      { jsonrpc: '2.0', id: 5, error: { code: -32050, message: 'disk full', data: { vendor: 1 } } },
    ]);
  });

  it('keeps its bytes, whatever numbers and names they are', async () => {
    expect((await whole('numbers')).messages).toEqual([
      '{"jsonrpc":"2.0","id": 5,"result":{"content":[],"n":9007199254740993,"m":1e400,"n":1.0}}',
    ]);
  });

  it('keeps characters that are split between chunks', async () => {
    const client = await rawClient(stage, { server: 'odd' });
    const response = await fetch(`${stage.gateway.url}/mcp/odd`, {
      method: 'POST',
      body: '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"act","kind":"split","arguments":{}}}',
      headers: {
        authorization: `Bearer ${stage.token('u1')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': client.session ?? '',
      },
    });
    const text = await response.text();
    expect(text).toContain(big);
  });

  it('that its client leaves is left by the gateway too', async () => {
    const answer = await ask('open');
    expect(closed).toBe(0);
    answer.leave();
    await eventually(() => expect(closed).toBe(1));
  });

  it('that breaks off in mid-call is an error at once, which does not say that nothing was done', async () => {
    const sinceMs = Date.now();
    const [message] = await parsed(ask('dies', '"x"'));
    expect(message).toMatchObject({ id: 'x', error: { code: -32000 } });
    expect(JSON.stringify(message)).toContain('Whether the call was carried out is not known');
    const answer = await ask('diesBefore', '"y"');
    expect(answer.status).toBe(502);
    expect((await parsed(Promise.resolve(answer)))[0]).toMatchObject({ id: 'y', error: { code: -32000 } });
    expect(Date.now() - sinceMs).toBeLessThan(5_000);
  });
});
