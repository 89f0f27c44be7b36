import { applyGatewayPolicy } from '../support/gateway-policy';
import { called, collected, effectsOf, migration, openRequest, openRequests } from '../support/gateway-rows';
import { approvalOf, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { withdrawOpen } from '../support/messages';
import { startToolServer, type TestToolServer } from '../support/tool-server';

let stage: GatewayStage;
let billing: TestToolServer;
const OWN_KEY = 'dev.holdpoint/operation';
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
  billing = await startToolServer();
});
afterAll(async () => {
  await stage.close();
  await billing.close();
});
beforeEach(() => apply());
afterEach(() => withdrawOpen(stage));

const apply = (more: { validity?: string } = {}) =>
  applyGatewayPolicy(stage, {
    servers: { 'orders-db': { url: stage.tools.url }, 'billing-db': { url: billing.url } },
    ...more,
  });
const allow = async (operationId: string) => {
  expect((await stage.decide(await openRequest(stage, operationId), 'allow')).code).toBe('accepted');
};
const deletes = (id: number) => stage.tools.runs.filter(({ arguments: given }) => given['id'] === id).length;

describe('an approval', () => {
  it('of one amount does not let another one through, and waits for its own call [SWAP-2]', async () => {
    const client = await stage.client();
    const first = approvalOf(await called(client, 'delete_rows', { id: 2_000 }));
    await allow(first.operationId);
    const other = approvalOf(await called(client, 'delete_rows', { id: 5_000 }));
    expect(other).toMatchObject({ status: 'pending' });
    expect(other.operationId).not.toBe(first.operationId);
    expect(other['digest']).not.toBe(first['digest']);
    expect([deletes(2_000), deletes(5_000)]).toEqual([0, 0]);
    const done = approvalOf(await collected(client, 'delete_rows', { id: 2_000 }));
    expect(done).toMatchObject({ status: 'approved', operationId: first.operationId });
    expect([deletes(2_000), deletes(5_000)]).toEqual([1, 0]);
  });

  it('under a key of the caller stays with its arguments: the same key with others is another call [SWAP-5]', async () => {
    const client = await stage.client();
    const key = { [OWN_KEY]: 'k1' };
    const first = approvalOf(await called(client, 'apply_migration', migration('key a'), key));
    const other = approvalOf(await called(client, 'apply_migration', migration('key b'), key));
    expect(other.operationId).not.toBe(first.operationId);
    await allow(other.operationId);
    const done = await collected(client, 'apply_migration', migration('key b'), key);
    expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId: other.operationId });
    expect((await openRequest(stage, 'key a')).operationId).toBe(first.operationId);
    expect([effectsOf(stage.tools, 'key a'), effectsOf(stage.tools, 'key b')]).toEqual([0, 1]);
  });

  it('is void when the description of the tool gains a sentence: revision 2, with its cause [SWAP-6]', async () => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration('described')));
    await allow(operationId);
    stage.tools.changeTool('apply_migration', { description: 'Runs SQL. It also mails the result to everybody.' });
    const again = await called(client, 'apply_migration', migration('described'));
    expect(approvalOf(again)).toMatchObject({ status: 'pending', operationId, revision: 2 });
    expect(textOf(again)).toContain('it is reviewed anew');
    expect((await openRequest(stage, operationId)).cause).toBe('definitionChanged');
    expect(effectsOf(stage.tools, 'described')).toBe(0);
    await allow(operationId);
    expect(approvalOf(await collected(client, 'apply_migration', migration('described'))).status).toBe('approved');
    expect(effectsOf(stage.tools, 'described')).toBe(1);
    stage.tools.changeTool('apply_migration', {});
  });

  it('of a call that starts a sub-agent does not cover what that one calls [SWAP-17] [NEST-01]', async () => {
    const bot = await stage.client();
    const { operationId } = approvalOf(await called(bot, 'send_mail', { to: 'sub', subject: 'clean up' }));
    await allow(operationId);
    expect(approvalOf(await collected(bot, 'send_mail', { to: 'sub', subject: 'clean up' })).status).toBe('approved');
    const sub = await stage.client({ agent: 'sub', chain: ['bot'] });
    const inner = await called(sub, 'apply_migration', migration('drop it all'));
    expect(approvalOf(inner).status).toBe('pending');
    expect(inner.isError).toBe(false);
    const request = await openRequest(stage, 'drop it all');
    expect(request.requester).toEqual({ subject: 'u1', agent: 'sub', chain: ['bot'] });
    expect(request.tool).toBe('apply_migration');
    expect(effectsOf(stage.tools, 'drop it all')).toBe(0);
    await allow(request.operationId);
    expect(approvalOf(await collected(sub, 'apply_migration', migration('drop it all'))).status).toBe('approved');
  });
});

describe('a window grant', () => {
  const window = '{ minutes: 15 }';

  it('covers the next call with the same bound fields, which runs at once and says under which grant', async () => {
    await apply({ validity: window });
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'delete_rows', { id: 31 }));
    await allow(operationId);
    const first = approvalOf(await collected(client, 'delete_rows', { id: 31 }));
    // Another key is another operation; `soft` is not material, so the grant covers it as well.
    const second = await collected(client, 'delete_rows', { id: 31, soft: true }, { [OWN_KEY]: 'again' });
    expect(approvalOf(second)).toMatchObject({ status: 'approved', grantId: first['grantId'], replayed: false });
    expect(approvalOf(second).operationId).not.toBe(operationId);
    expect(deletes(31)).toBe(2);
    expect(approvalOf(await called(client, 'delete_rows', { id: 32 })).status).toBe('pending');
    expect(deletes(32)).toBe(0);
  });

  it('does not cover the same call on another server [SWAP-7]', async () => {
    await apply({ validity: window });
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration('one server')));
    await allow(operationId);
    await collected(client, 'apply_migration', migration('one server'));
    const elsewhere = await stage.client({ server: 'billing-db' });
    const other = approvalOf(await called(elsewhere, 'apply_migration', migration('one server')));
    expect(other.status).toBe('pending');
    expect(other.operationId).not.toBe(operationId);
    expect([effectsOf(stage.tools, 'one server'), effectsOf(billing, 'one server')]).toEqual([1, 0]);
  });

  it('does not cover the identical call of another person, or of another agent of the same [SWAP-9]', async () => {
    await apply({ validity: window });
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'delete_rows', { id: 33 }));
    await allow(operationId);
    await collected(client, 'delete_rows', { id: 33 });
    for (const other of [{ subject: 'u2' }, { agent: 'other' }, { agent: 'bot', chain: ['parent'] }]) {
      const theirs = approvalOf(await called(await stage.client(other), 'delete_rows', { id: 33 }));
      expect(theirs.status).toBe('pending');
      expect(theirs.operationId).not.toBe(operationId);
    }
    expect(deletes(33)).toBe(1);
  });

  it('that was revoked covers nothing any more', async () => {
    await apply({ validity: window });
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'delete_rows', { id: 34 }));
    await allow(operationId);
    const { grantId } = approvalOf(await collected(client, 'delete_rows', { id: 34 }));
    const revoked = await stage.ledger.revokeGrant({ grantId: String(grantId), by: 'op', reason: 'test' });
    expect(revoked).toMatchObject({ ok: true });
    const next = approvalOf(await called(client, 'delete_rows', { id: 34 }, { [OWN_KEY]: 'after' }));
    expect(next.status).toBe('pending');
    expect(deletes(34)).toBe(1);
  });
});

describe('an identical call', () => {
  it('of another person or agent never meets the operation of the first [SWAP-9]', async () => {
    const calls = await Promise.all([
      stage.client().then((client) => called(client, 'apply_migration', migration('mine'))),
      stage.client({ subject: 'u2' }).then((client) => called(client, 'apply_migration', migration('mine'))),
      stage.client({ agent: 'other' }).then((client) => called(client, 'apply_migration', migration('mine'))),
    ]);
    expect(new Set(calls.map((result) => approvalOf(result).operationId)).size).toBe(3);
    expect(await openRequests(stage)).toHaveLength(3);
  });
});
