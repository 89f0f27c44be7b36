import { applyGatewayPolicy } from '../support/gateway-policy';
import { called, effectsOf, migration, openRequest, openRequests } from '../support/gateway-rows';
import { approvalOf, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { eventually } from '../support/eventually';
import { withdrawOpen } from '../support/messages';

let stage: GatewayStage;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 400 });
  await applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url } } });
});
afterAll(() => stage.close());
afterEach(() => withdrawOpen(stage));

const isDelivered = (operationId: string) =>
  eventually(async () => {
    const kinds = (await stage.facts(operationId)).map(({ kind }) => kind);
    if (!kinds.includes('result.delivered')) throw new Error(`not delivered: ${kinds.join()}`);
  });

describe('open requests of one person', () => {
  it('are ten at most: the eleventh call is refused with the limit, the ten are as they were [TIME2-6] [TIME-09]', async () => {
    const clients = [await stage.client(), await stage.client({ agent: 'another' })];
    const ids: string[] = [];
    for (let id = 1; id <= 10; id += 1) {
      const [client] = id % 2 === 0 ? clients : clients.slice(1);
      const result = client === undefined ? undefined : await called(client, 'delete_rows', { id });
      if (result !== undefined) ids.push(approvalOf(result).operationId);
    }
    const before = await openRequests(stage);
    expect(before.map(({ operationId }) => operationId).sort()).toEqual([...ids].sort());
    for (const client of clients) {
      const eleventh = await called(client, 'delete_rows', { id: 11 });
      expect(eleventh.isError).toBe(true);
      expect(approvalOf(eleventh)).toMatchObject({ status: 'refused', code: 'OPEN_REQUESTS_LIMIT' });
      expect(textOf(eleventh)).toContain(
        'There are 10 open approval requests of u1, over all agents; the limit is 10.',
      );
    }
    expect(await openRequests(stage)).toEqual(before);
    const other = approvalOf(await called(await stage.client({ subject: 'u2' }), 'delete_rows', { id: 11 }));
    expect(other.status).toBe('pending');
    await stage.decide(await openRequest(stage, ids[0] ?? ''), 'deny');
    const later = await eventually(async () => {
      const result = approvalOf(await called(await stage.client(), 'delete_rows', { id: 11 }));
      if (result.status !== 'pending') throw new Error(JSON.stringify(result));
      return result;
    });
    expect(later['code']).toBeUndefined();
    expect(stage.tools.runs).toEqual([]);
  });
});

describe('a pending call that is repeated', () => {
  it('117 times is one operation, one request and one notice, each time with when to come back [TIME-08] [GATE-8]', async () => {
    const hasty = await stage.anotherGateway({ waitForMs: 50 });
    const client = await stage.client({ gateway: hasty });
    const results = [];
    for (let times = 0; times < 117; times += 1) {
      results.push(await called(client, 'apply_migration', migration('again and again')));
    }
    const approvals = results.map(approvalOf);
    expect(new Set(approvals.map(({ operationId }) => operationId)).size).toBe(1);
    expect(new Set(approvals.map(({ status }) => status))).toEqual(new Set(['pending']));
    expect(approvals.every((each) => each['retryAfterMs'] === 5_000)).toBe(true);
    expect(results.every((result) => textOf(result).includes('not before 5 seconds from now'))).toBe(true);
    expect(results.every((result) => /do not repeat it in a loop/i.test(textOf(result)))).toBe(true);
    const { operationId } = approvals[0] ?? { operationId: '' };
    expect((await openRequests(stage)).map((request) => request.operationId)).toEqual([operationId]);
    expect(await stage.notices(operationId)).toHaveLength(1);
    expect((await stage.facts(operationId)).filter(({ kind }) => kind === 'request.opened')).toHaveLength(1);
    expect(effectsOf(stage.tools, 'again and again')).toBe(0);
  });

  it('at once by many callers, through two gateways, is one operation too [TIME-08]', async () => {
    const other = await stage.anotherGateway({ waitForMs: 400 });
    const clients = await Promise.all(
      [stage.gateway, other, stage.gateway, other].map((gateway) => stage.client({ gateway })),
    );
    const calls = clients.flatMap((client) =>
      [1, 2, 3, 4].map(() => called(client, 'apply_migration', migration('all at once'))),
    );
    const ids = (await Promise.all(calls)).map((result) => approvalOf(result).operationId);
    expect(new Set(ids).size).toBe(1);
    expect(await openRequests(stage)).toHaveLength(1);
  });
});

describe('a denied call', () => {
  const deny = async (id: number) => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'delete_rows', { id }));
    await stage.decide(await openRequest(stage, operationId), 'deny', { reason: `no, ${id}` });
    const denied = await called(client, 'delete_rows', { id });
    expect(approvalOf(denied)).toMatchObject({ status: 'denied', operationId });
    await isDelivered(operationId);
    return operationId;
  };

  it('that comes again is a new request, whose card shows the denial [TIME2-10]', async () => {
    const denied = await deny(21);
    const client = await stage.client();
    const { status, operationId } = approvalOf(await called(client, 'delete_rows', { id: 21 }));
    expect(status).toBe('pending');
    expect(operationId).not.toBe(denied);
    const request = await openRequest(stage, operationId);
    expect(request.similar).toEqual([
      { operationId: denied, atMs: expect.any(Number) as number, requester: 'u1', state: 'denied' },
    ]);
    expect(stage.tools.runs).toEqual([]);
  });

  it('three times in an hour is refused with the time to wait, and after that asks again [TIME2-11]', async () => {
    const ids = [await deny(22), await deny(22), await deny(22)];
    const client = await stage.client();
    const fourth = await called(client, 'delete_rows', { id: 22 });
    expect(fourth.isError).toBe(true);
    expect(approvalOf(fourth)).toMatchObject({ status: 'refused', code: 'DENIALS_REPEATED' });
    expect(textOf(fourth)).toMatch(/It may be proposed again in 3[56][0-9][0-9] s/);
    expect(await openRequests(stage)).toEqual([]);
    const refused = (await stage.facts(approvalOf(fourth).operationId)).map(({ kind }) => kind);
    expect(refused).toContain('call.refused');
    await isDelivered(approvalOf(fourth).operationId);
    await stage.store.write(({ db }) =>
      db
        .updateTable('requests')
        .set((eb) => ({ closed_at: eb('closed_at', '-', 3_600_000) }))
        .where('operation_id', 'in', ids)
        .execute(),
    );
    const later = approvalOf(await called(client, 'delete_rows', { id: 22 }));
    expect(later.status).toBe('pending');
    expect(stage.tools.runs).toEqual([]);
  });
});
