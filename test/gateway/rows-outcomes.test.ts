import { applyGatewayPolicy } from '../support/gateway-policy';
import { callText, callToCut, called, collected, effectsOf, migration, openRequest } from '../support/gateway-rows';
import { approvalOf, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { eventually } from '../support/eventually';
import { withdrawOpen } from '../support/messages';

const OWN_KEY = 'dev.holdpoint/operation';
const MINUTE_MS = 60_000;

let stage: GatewayStage;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
});
afterAll(() => stage.close());
beforeEach(() => applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url } } }));
afterEach(() => withdrawOpen(stage));

const allow = async (operationId: string) => {
  expect((await stage.decide(await openRequest(stage, operationId), 'allow')).code).toBe('accepted');
};
const mailsTo = (to: string) => stage.tools.runs.filter(({ arguments: given }) => given['to'] === to).length;
const isDelivered = (operationId: string) =>
  eventually(async () => {
    const kinds = (await stage.facts(operationId)).map(({ kind }) => kind);
    if (!kinds.includes('result.delivered')) throw new Error(`not delivered: ${kinds.join()}`);
  });
const deliveredEarlier = (operationId: string, byMs: number) =>
  stage.store.write(({ db }) =>
    db
      .updateTable('gateway_calls')
      .set((eb) => ({ delivered_at: eb('delivered_at', '-', byMs) }))
      .where('operation_id', '=', operationId)
      .execute(),
  );
const endedEarlier = (operationId: string, byMs: number) =>
  stage.store.write(({ db }) =>
    db
      .updateTable('operations')
      .set((eb) => ({ ended_at: eb('ended_at', '-', byMs) }))
      .where('operation_id', '=', operationId)
      .execute(),
  );

describe('an outcome that is unknown', () => {
  const unknown = async (to: string) => {
    const client = await stage.client();
    const call = () => called(client, 'send_mail', { to }, { [OWN_KEY]: 'mail' });
    const { operationId } = approvalOf(await call());
    stage.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    await allow(operationId);
    const first = await collected(client, 'send_mail', { to }, { [OWN_KEY]: 'mail' });
    return { operationId, call, first };
  };

  it('is told as unknown to every identical call, which sends nothing [EXEC-15]', async () => {
    const { operationId, call, first } = await unknown('a');
    for (const result of [first, await call(), await call(), await call()]) {
      expect(result.isError).toBe(true);
      expect(approvalOf(result)).toMatchObject({ status: 'unknown', operationId });
      expect(textOf(result)).toContain('OUTCOME UNKNOWN');
      expect(textOf(result)).toContain('a person will establish what happened');
    }
    expect(mailsTo('a')).toBe(1);
  });

  it('is settled by a person, and then the truth is told, not run again [EXEC-15]', async () => {
    const { operationId, call } = await unknown('b');
    await call();
    await stage.ledger.settle({ operationId, outcome: 'executed', by: 'op', reason: 'it is in the outbox' });
    await deliveredEarlier(operationId, 3 * MINUTE_MS);
    const told = await call();
    expect(approvalOf(told)).toMatchObject({ status: 'approved', operationId, replayed: false });
    expect(textOf(told)).toContain('EXECUTED');
    expect(mailsTo('b')).toBe(1);
  });

  it('that is settled as not done is told once, and then the call is a new one', async () => {
    const { operationId, call } = await unknown('c');
    await call();
    await stage.ledger.settle({ operationId, outcome: 'failed', by: 'op', reason: 'it never left' });
    const told = await call();
    expect(approvalOf(told)).toMatchObject({ status: 'failed', operationId });
    expect(told.isError).toBe(true);
    await isDelivered(operationId);
    const again = approvalOf(await call());
    expect(again.status).toBe('pending');
    expect(again.operationId).not.toBe(operationId);
  });
});

describe('a result', () => {
  const run = async (sql: string) => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration(sql)));
    await allow(operationId);
    const result = await collected(client, 'apply_migration', migration(sql));
    return { client, operationId, result };
  };

  it('that was written is given again for 2 min, with words that say so; a new key runs anew [GATE-5]', async () => {
    const { client, operationId, result } = await run('replayed');
    expect(approvalOf(result)).toMatchObject({ status: 'approved', replayed: false });
    expect(textOf(result)).not.toContain('NOT RUN AGAIN');
    await isDelivered(operationId);
    const again = await called(client, 'apply_migration', migration('replayed'));
    expect(approvalOf(again)).toMatchObject({ status: 'approved', operationId, replayed: true });
    expect(textOf(again)).toContain('NOT RUN AGAIN');
    expect(textOf(again)).toContain('a new key in _meta["dev.holdpoint/operation"]');
    expect(again.structuredContent).toEqual(result.structuredContent);
    const anew = approvalOf(await called(client, 'apply_migration', migration('replayed'), { [OWN_KEY]: 'anew' }));
    expect(anew.status).toBe('pending');
    expect(anew.operationId).not.toBe(operationId);
    await deliveredEarlier(operationId, 2 * MINUTE_MS);
    const later = approvalOf(await called(client, 'apply_migration', migration('replayed')));
    expect(later.status).toBe('pending');
    expect(later.operationId).not.toBe(operationId);
    expect(effectsOf(stage.tools, 'replayed')).toBe(1);
  });

  it('that could not be written waits for the identical call, and is new to it [GATE-5]', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    stage.tools.behave('apply_migration', { kind: 'hold' }, 1);
    const cut = await callToCut(stage, callText(7, 'apply_migration', migration('cut off')), { gateway: patient });
    const { operationId } = await openRequest(stage, 'cut off');
    await allow(operationId);
    await eventually(() => expect(stage.tools.receivedBy('apply_migration').at(-1)?.operationId).toBe(operationId));
    cut.leave();
    stage.tools.release('apply_migration');
    await eventually(() => expect(effectsOf(stage.tools, 'cut off')).toBe(1));
    const next = await collected(await stage.client(), 'apply_migration', migration('cut off'));
    expect(approvalOf(next)).toMatchObject({ status: 'approved', operationId, replayed: false });
    expect(effectsOf(stage.tools, 'cut off')).toBe(1);
  });

  it('that reached nobody is kept for 15 min, and no longer', async () => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration('kept')));
    await allow(operationId);
    await collected(client, 'apply_migration', migration('kept'));
    await isDelivered(operationId);
    const forget = () =>
      stage.store.write(({ db }) =>
        db.updateTable('gateway_calls').set({ delivered_at: null }).where('operation_id', '=', operationId).execute(),
      );
    await forget();
    await endedEarlier(operationId, 14 * MINUTE_MS);
    expect(approvalOf(await called(client, 'apply_migration', migration('kept')))).toMatchObject({
      ...{ status: 'approved', operationId, replayed: false },
    });
    await isDelivered(operationId);
    await forget();
    await endedEarlier(operationId, MINUTE_MS);
    const later = approvalOf(await called(client, 'apply_migration', migration('kept')));
    expect(later.status).toBe('pending');
    expect(later.operationId).not.toBe(operationId);
  });

  it('of 3 MiB arrives whole', async () => {
    stage.tools.behave('send_mail', { kind: 'big', chars: 3 * 1_048_576 }, 1);
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'send_mail', { to: 'big' }));
    await allow(operationId);
    const result = await collected(client, 'send_mail', { to: 'big' });
    expect(approvalOf(result)).toMatchObject({ status: 'approved', operationId });
    expect(textOf(result)).toBe('x'.repeat(3 * 1_048_576));
    expect(mailsTo('big')).toBe(1);
  });

  it('with an error of the tool is executed, and no failure of Holdpoint', async () => {
    stage.tools.behave('apply_migration', { kind: 'isError' }, 1);
    const { result } = await run('tool error');
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'approved' });
    expect(result.structuredContent).toEqual({ done: true, tool: 'apply_migration' });
    expect(effectsOf(stage.tools, 'tool error')).toBe(1);
  });
});

describe('a call that nobody asks about, whose operation id Holdpoint fills', () => {
  it('runs at once as an operation, and runs again only with a key of its own', async () => {
    await applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url } }, rules: '  []' });
    const client = await stage.client();
    const done = await collected(client, 'apply_migration', migration('free'));
    expect(approvalOf(done)).toMatchObject({ status: 'executed', rule: null, revision: null });
    expect(stage.tools.runs.at(-1)?.operationId).toBe(approvalOf(done).operationId);
    const other = await collected(client, 'apply_migration', migration('free'), { [OWN_KEY]: '2' });
    expect(approvalOf(other)).toMatchObject({ status: 'executed' });
    expect(effectsOf(stage.tools, 'free')).toBe(2);
  });
});

describe('two identical calls in flight', () => {
  it('are one operation, and both callers get its one result, when the decision comes [GATE-1] [DUR-05] [TIME-02]', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const clients = [await stage.client({ gateway: patient }), await stage.client({ gateway: patient })];
    const calls = clients.map((client) => called(client, 'apply_migration', migration('both')));
    const request = await openRequest(stage, 'both');
    // A third caller elsewhere is told that it waits.
    const third = await called(await stage.client(), 'apply_migration', migration('both'));
    expect(approvalOf(third)).toMatchObject({ status: 'pending', operationId: request.operationId });
    expect(effectsOf(stage.tools, 'both')).toBe(0);
    await allow(request.operationId);
    for (const result of await Promise.all(calls)) {
      expect(approvalOf(result)).toMatchObject({ status: 'approved', operationId: request.operationId });
    }
    expect(effectsOf(stage.tools, 'both')).toBe(1);
  });
});
