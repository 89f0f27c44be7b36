import { request as httpRequest } from 'node:http';
import { applyKillPolicy } from '../support/gateway-kill-policy';
import {
  allow,
  countedFacts,
  endGatewayProcesses,
  openRequestWith,
  startGatewayProcess,
  toldUntilEnd,
  type GatewayProcess,
} from '../support/gateway-kill-stage';
import { callText, effectsOf, migration, openRequests, rawClient } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';

let stage: GatewayStage;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 300 });
  await applyKillPolicy(stage);
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await stage.close();
});

/** A call that may lose its gateway. */
const callAt = async ({ gateway }: GatewayProcess, sql: string) => {
  const client = await stage.client({ gateway });
  return callTool(client, 'apply_migration', migration(sql)).then(textOf, () => 'no answer');
};

describe('a gateway that is killed while a call', () => {
  test.concurrent(
    'is held there: the next gateway finds the same request, and nobody is asked again [DUR-05]',
    async () => {
      const held = await startGatewayProcess(stage);
      const first = callAt(held, 'W held');
      const request = await openRequestWith(stage, 'W held');
      await held.child.kill9();
      expect(await first).toBe('no answer');
      const client = await stage.client();
      const pending = await callTool(client, 'apply_migration', migration('W held'));
      expect(approvalOf(pending)).toMatchObject({ status: 'pending', operationId: request.operationId, revision: 1 });
      expect(textOf(pending)).toContain(request.shortId);
      await allow(stage, request);
      const told = await toldUntilEnd(client, 'apply_migration', migration('W held'));
      expect(told.status).toBe('approved');
      expect(effectsOf(stage.tools, 'W held')).toBe(1);
      expect(await countedFacts(stage, request.operationId)).toMatchObject({ 'request.opened': 1, 'grant.issued': 1 });
    },
  );

  test.concurrent(
    'waits to be collected there, allowed: the next identical call runs it, once [DUR-05] [GATE-5]',
    async () => {
      const held = await startGatewayProcess(stage, { edge: { waitForMs: 100 } });
      expect(await callAt(held, 'W allowed')).toMatch(/^NOT EXECUTED/);
      const request = await openRequestWith(stage, 'W allowed');
      await allow(stage, request);
      await held.child.kill9();
      const told = await toldUntilEnd(await stage.client(), 'apply_migration', migration('W allowed'));
      expect(told).toMatchObject({ status: 'approved', text: '{"done":true,"tool":"apply_migration"}' });
      expect(told.before).not.toContain('pending');
      expect(effectsOf(stage.tools, 'W allowed')).toBe(1);
    },
  );

  test.concurrent(
    'is allowed a moment later: what was sent to the dead one is not run, the next call is [DUR-05]',
    async () => {
      const held = await startGatewayProcess(stage);
      const first = callAt(held, 'W later');
      const request = await openRequestWith(stage, 'W later');
      await held.child.kill9();
      await allow(stage, request);
      expect(await first).toBe('no answer');
      const told = await toldUntilEnd(await stage.client(), 'apply_migration', migration('W later'));
      expect(told.status).toBe('approved');
      expect(told.before).not.toContain('pending');
      expect(effectsOf(stage.tools, 'W later')).toBe(1);
    },
  );

  test.concurrent(
    'is held there, and starts again at its address: its clients go on in their sessions [DUR-05]',
    async () => {
      const held = await startGatewayProcess(stage);
      const client = await stage.client({ gateway: held.gateway });
      const first = callTool(client, 'apply_migration', migration('W again')).catch(() => 'no answer');
      const request = await openRequestWith(stage, 'W again');
      await held.child.kill9();
      expect(await first).toBe('no answer');
      await allow(stage, request);
      const port = Number(new URL(held.gateway.url).port);
      await startGatewayProcess(stage, { edge: { port } });
      const told = await toldUntilEnd(client, 'apply_migration', migration('W again'));
      expect(told.status).toBe('approved');
      expect(effectsOf(stage.tools, 'W again')).toBe(1);
      expect((await openRequests(stage)).map(({ operationId }) => operationId)).not.toContain(request.operationId);
    },
  );
});

describe('a gateway that stands still', () => {
  test.concurrent(
    'before the transaction, while another one runs its call: awake again it sends nothing, and tells the truth [EXEC-06]',
    async () => {
      const still = await startGatewayProcess(stage, { at: { step: 'beforeTransaction', signal: 'SIGSTOP' } });
      const first = callAt(still, 'W still');
      const request = await openRequestWith(stage, 'W still');
      await allow(stage, request);
      expect(await still.child.waitForLine(/^SIGSTOP at beforeTransaction/, 20_000)).toBeDefined();
      const told = await toldUntilEnd(await stage.client(), 'apply_migration', migration('W still'));
      expect(told.status).toBe('approved');
      process.kill(still.child.pid, 'SIGCONT');
      expect(await still.child.stop(20_000)).toEqual({ code: 0, signal: null });
      expect(await first).toContain('"done":true');
      expect(effectsOf(stage.tools, 'W still')).toBe(1);
      expect(await countedFacts(stage, request.operationId)).toMatchObject({ 'operation.dispatched': 1 });
    },
  );

  test.concurrent(
    'after the transaction, for longer than its lease: it does not send any more [EXEC-06] [GATE-3]',
    async () => {
      const still = await startGatewayProcess(stage, { at: { step: 'afterTransaction', signal: 'SIGSTOP' } });
      const first = callAt(still, 'W late');
      const request = await openRequestWith(stage, 'W late');
      await allow(stage, request);
      expect(await still.child.waitForLine(/^SIGSTOP at afterTransaction/, 20_000)).toBeDefined();
      const told = await toldUntilEnd(await stage.client(), 'apply_migration', migration('W late'));
      expect(told).toMatchObject({ status: 'failed', before: ['running'] });
      process.kill(still.child.pid, 'SIGCONT');
      // An orderly stop waits for the attempt that stood still.
      expect(await still.child.stop(20_000)).toEqual({ code: 0, signal: null });
      expect(await first).toMatch(/^FAILED: nothing was done/);
      expect(stage.tools.receivedBy('apply_migration').map((call) => call.operationId)).not.toContain(
        request.operationId,
      );
    },
  );
});

describe('a gateway that is killed while it writes a result of 8 MiB', () => {
  test.concurrent(
    'to a client that does not read: the next identical call gets the whole result, not run again [GATE-5]',
    async () => {
      const writing = await startGatewayProcess(stage);
      stage.tools.behave('send_mail', { kind: 'big', chars: 8 * 1_048_576 }, 1);
      const answer = unreadAnswer(writing, callText(1, 'send_mail', { to: 'w-big@example.org' }));
      const request = await openRequestWith(stage, 'w-big@example.org');
      await allow(stage, request);
      await answer;
      await writing.child.kill9();
      const client = await stage.client();
      const told = await toldUntilEnd(client, 'send_mail', { to: 'w-big@example.org' });
      expect(told).toMatchObject({ status: 'approved', text: 'x'.repeat(8 * 1_048_576) });
      expect(approvalOf(told.end)).toMatchObject({ operationId: request.operationId, replayed: false });
      expect(stage.tools.receivedBy('send_mail')).toHaveLength(1);
    },
  );

  /** Sends a call and settles when the first bytes of its answer have come, of which no more is read. */
  async function unreadAnswer({ gateway }: GatewayProcess, body: string): Promise<void> {
    const { session = '' } = await rawClient(stage, { gateway });
    const headers = {
      authorization: `Bearer ${stage.token('u1')}`,
      'mcp-session-id': session,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    await new Promise<void>((resolve, reject) => {
      const sent = httpRequest(`${gateway.url}/mcp/orders-db`, { method: 'POST', headers, agent: false });
      sent.on('error', reject);
      sent.on('response', (response) => {
        sent.off('error', reject);
        sent.on('error', () => undefined);
        response.on('error', () => undefined);
        response.pause();
        resolve();
      });
      sent.end(body);
    });
  }
});
