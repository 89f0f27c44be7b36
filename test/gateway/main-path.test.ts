import { pendingApproval } from '../../client';
import { listRequests } from '../../ledger/queries';
import { eventually } from '../support/eventually';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';

const migration = (sql: string) => ({ environment: 'production', sql });

describe('a real MCP client behind the gateway', () => {
  let stage: GatewayStage;
  beforeAll(async () => {
    stage = await startGatewayStage();
  }, 60_000);
  afterAll(() => stage.close());

  const ran = (sql: string) => stage.tools.runs.filter(({ arguments: given }) => given['sql'] === sql).length;
  const open = (operationId: string) =>
    eventually(async () => {
      const found = (await listRequests(stage.store.db)).find(({ request }) => request.operationId === operationId);
      if (found === undefined) throw new Error(`${operationId} is not open`);
      return found.request;
    });

  test('a call that nobody asks about goes straight through', async () => {
    const client = await stage.client();
    const result = await callTool(client, 'read_rows', { table: 'orders' });
    expect(result._meta?.['dev.holdpoint/approval']).toBeUndefined();
    expect(stage.tools.receivedBy('read_rows')).toHaveLength(1);
  });

  test('a protected call is pending, and after the allow the same call runs once and says so [GATE-5, TIME-02]', async () => {
    const client = await stage.client();
    const first = await callTool(client, 'apply_migration', migration('ADD main'));
    expect(first.isError).toBe(false);
    expect(textOf(first)).toMatch(/^NOT EXECUTED: /);
    const { operationId } = approvalOf(first);
    // The short wait may end before the request is on record.
    await open(operationId);
    const pending = await callTool(client, 'apply_migration', migration('ADD main'));
    expect(textOf(pending)).toMatch(/^NOT EXECUTED: this call waits for approval/);
    expect(pendingApproval(pending)).toMatchObject({ status: 'pending', operationId });
    expect((await stage.decide(await open(operationId), 'allow')).code).toBe('accepted');
    expect(ran('ADD main')).toBe(0);
    const done = await callTool(client, 'apply_migration', migration('ADD main'));
    expect(approvalOf(done)).toMatchObject({
      status: 'approved',
      operationId,
      grantId: expect.stringMatching(/^gr_/) as string,
    });
    expect(pendingApproval(done)).toBeNull();
    expect(ran('ADD main')).toBe(1);
  });

  test('a decision wakes the caller that waits, and an identical one gets the same result [DUR-05, GATE-1]', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const [one, two] = [await stage.client({ gateway: patient }), await stage.client({ gateway: patient })];
    const calls = [one, two].map((client) => callTool(client, 'apply_migration', migration('ADD both')));
    const request = await openOf('ADD both');
    await stage.decide(request, 'allow');
    const results = await Promise.all(calls);
    expect(results.map((result) => approvalOf(result).operationId)).toEqual([request.operationId, request.operationId]);
    expect(results.map((result) => approvalOf(result).status)).toEqual(['approved', 'approved']);
    expect(ran('ADD both')).toBe(1);
  });

  async function openOf(sql: string) {
    for (;;) {
      const found = (await listRequests(stage.store.db)).find(({ request }) => request.arguments['sql'] === sql);
      if (found !== undefined) return found.request;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  test('a denial is a result that is an error, with the words of the reviewer, and closes that request only [GATE-9]', async () => {
    const client = await stage.client();
    const { operationId } = approvalOf(await callTool(client, 'apply_migration', migration('DROP it')));
    await stage.decide(await open(operationId), 'deny', { reason: 'use the staging copy' });
    const denied = await callTool(client, 'apply_migration', migration('DROP it'));
    expect(denied.isError).toBe(true);
    expect(approvalOf(denied)).toMatchObject({ status: 'denied', operationId });
    expect(textOf(denied)).toContain('use the staging copy');
    const again = approvalOf(await callTool(client, 'apply_migration', migration('DROP it')));
    expect(again.status).toBe('pending');
    expect(again.operationId).not.toBe(operationId);
    expect(ran('DROP it')).toBe(0);
  });
});
