import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { applyGatewayPolicy } from '../support/gateway-policy';
import { called, callText, collected, effectsOf, migration, openRequest, parsed } from '../support/gateway-rows';
import { openRequests, rawClient, traces } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { RawClient } from '../support/gateway-stdio-client';
import { withdrawOpen } from '../support/messages';
import { startRawMcpServer, type RawMcpServer } from '../support/raw-mcp-server';
import { recordedLog } from '../support/recorded-log';
import { startIssuer } from './edge-stage';

let stage: GatewayStage;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
  await apply();
});
afterAll(() => stage.close());
afterEach(async () => {
  await withdrawOpen(stage);
  await apply();
});

const apply = (more: { enabled?: boolean; access?: string } = {}) =>
  applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url, ...more } }, ...more });
const ran = (sql: string) => effectsOf(stage.tools, sql);

describe('credentials', () => {
  let upstream: RawMcpServer;
  beforeAll(async () => {
    process.env['ROWS_TEST_KEY'] = 'upstream-secret-1';
    upstream = await startRawMcpServer();
  });
  afterAll(async () => {
    delete process.env['ROWS_TEST_KEY'];
    await upstream.close();
  });

  it('of the client never leave the gateway; the upstream gets those of the policy [BYPASS-1]', async () => {
    await applyGatewayPolicy(stage, {
      servers: { raw: { url: upstream.url, tools: '{}', headers: "{ authorization: 'Bearer ${ROWS_TEST_KEY}' }" } },
      rules: '  []',
    });
    const token = stage.token('u1');
    const headers = {
      Authorization: `Bearer ${token}`,
      Cookie: 'session=abc',
      'X-Api-Key': 'k',
      'Proxy-Authorization': 'x',
    };
    const client = new RawClient(new URL(`${stage.gateway.url}/mcp/raw`), { headers });
    await client.initialise();
    await parsed(client.call('1', 'act'));
    expect(upstream.requests.length).toBeGreaterThan(2);
    for (const { headers: seen } of upstream.requests) {
      expect(seen.authorization).toBe('Bearer upstream-secret-1');
      expect(JSON.stringify(seen)).not.toContain(token);
      expect(seen).not.toHaveProperty('cookie');
      expect(seen).not.toHaveProperty('x-api-key');
      expect(seen).not.toHaveProperty('proxy-authorization');
    }
  });

  it('for another audience, and none at all, are 401, and nothing is asked of the upstream [BYPASS-1]', async () => {
    const issuer = await startIssuer();
    const guarded = await stage.anotherGateway({ publicUrl: null, oauth: { ...issuer.oauth, audiences: ['here'] } });
    const before = [...(await traces(stage)), stage.tools.received.length];
    const tokens = [await issuer.token({ aud: 'elsewhere' }), 'nonsense', ''];
    for (const token of tokens) {
      const client = new RawClient(new URL(`${guarded.url}/mcp/orders-db`), {
        headers: token === '' ? {} : { Authorization: `Bearer ${token}` },
      });
      expect((await client.call('1', 'apply_migration', JSON.stringify(migration('no audience')))).status).toBe(401);
    }
    expect([...(await traces(stage)), stage.tools.received.length]).toEqual(before);
    await issuer.close();
  });
});

describe('a header that names another tool', () => {
  it('decides nothing: the body does [BYPASS-3]', async () => {
    const client = await rawClient(stage);
    const body = callText(1, 'apply_migration', migration('by header'));
    const [message] = await parsed(client.post(body, { 'Mcp-Name': 'read_rows', 'Mcp-Method': 'tools/list' }));
    expect(message?.['result']).toMatchObject({ _meta: { 'dev.holdpoint/approval': { status: 'pending' } } });
    expect(ran('by header')).toBe(0);
  });

  it('is 400 where the revision defines it, and nothing is asked or sent [BYPASS-3]', async () => {
    const client = await rawClient(stage, { bare: true });
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const body = callText(1, 'apply_migration', migration('by header 2'), { _meta: meta });
    const good = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'apply_migration' };
    const before = [...(await traces(stage)), stage.tools.received.length];
    for (const wrong of [
      { 'Mcp-Name': 'read_rows' },
      { 'Mcp-Name': undefined },
      { 'Mcp-Method': 'tools/list' },
      { 'Mcp-Method': undefined },
      { 'MCP-Protocol-Version': '2025-11-25' },
    ]) {
      const answer = await client.post(body, { ...good, ...wrong });
      expect(answer.status).toBe(400);
      expect((await parsed(Promise.resolve(answer)))[0]).toMatchObject({ id: 1, error: { code: -32020 } });
    }
    expect([...(await traces(stage)), stage.tools.received.length]).toEqual(before);
  });
});

describe('the policy', () => {
  it('that cannot be read refuses every call, in words that name the ledger [BYPASS-5]', async () => {
    const client = await stage.client();
    await called(client, 'apply_migration', migration('before'));
    const { version, compiled } = await stage.store.db
      .selectFrom('policies')
      .select(['version', 'compiled'])
      .where('active', '=', 1)
      .executeTakeFirstOrThrow();
    const write = (digest: string, text: string) =>
      stage.store.write(({ db }) =>
        db.updateTable('policies').set({ digest, compiled: text }).where('version', '=', version).execute(),
      );
    await write('sha256:other', '{ broken');
    for (const tool of ['read_rows', 'apply_migration']) {
      await expect(callTool(client, tool, migration('unreadable'))).rejects.toThrow(/ledger\.db/);
    }
    expect(ran('unreadable')).toBe(0);
    expect(stage.tools.received.filter(({ arguments: given }) => given['sql'] === 'unreadable')).toEqual([]);
    await write('sha256:back', compiled);
    expect(approvalOf(await called(client, 'apply_migration', migration('unreadable'))).status).toBe('pending');
  });

  it('that is removed refuses every call, and one that was allowed does not run [BYPASS-5]', async () => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration('removed')));
    await stage.decide(await openRequest(stage, operationId), 'allow');
    const set = (active: 0 | 1, version: number) =>
      stage.store.write(({ db }) =>
        db.updateTable('policies').set({ active }).where('version', '=', version).execute(),
      );
    const active = await stage.ledger.activePolicy();
    await set(0, active?.version ?? 0);
    await expect(callTool(client, 'apply_migration', migration('removed'))).rejects.toThrow(/No policy is active/);
    await expect(callTool(client, 'read_rows', {})).rejects.toThrow(/holdpoint policy apply/);
    expect(ran('removed')).toBe(0);
    await set(1, active?.version ?? 0);
    expect(approvalOf(await collected(client, 'apply_migration', migration('removed'))).status).toBe('approved');
  });

  it('that disables a server closes its endpoint, and nothing that waited there runs', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 3_000 });
    const waiting = callTool(await stage.client({ gateway: patient }), 'apply_migration', migration('disabled'));
    const request = await openRequest(stage, 'disabled');
    await apply({ enabled: false });
    await stage.decide(request, 'allow');
    const result = await waiting;
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'refused' });
    const client = await rawClient(stage, { bare: true });
    expect((await client.call('1', 'read_rows')).status).toBe(404);
    expect(ran('disabled')).toBe(0);
  });

  it('that takes access away while a call waits lets it not run, whatever was allowed', async () => {
    const client = await stage.client();
    const { operationId } = approvalOf(await called(client, 'apply_migration', migration('taken away')));
    const request = await openRequest(stage, operationId);
    await apply({ access: "  - { subjects: ['u1'], agents: ['*'], server: orders-db, tools: [read_rows] }" });
    await stage.decide(request, 'allow');
    const result = await callTool(client, 'apply_migration', migration('taken away'));
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'refused', code: 'ACCESS_DENIED' });
    expect(textOf(result)).toContain('an approval cannot');
    await apply({ access: "  - { subjects: ['u2'], agents: ['*'], server: orders-db, tools: ['*'] }" });
    const raw = await rawClient(stage, { bare: true });
    expect((await raw.call('1', 'apply_migration', JSON.stringify(migration('taken away')))).status).toBe(404);
    expect(ran('taken away')).toBe(0);
  });

  it('that gives no access to a tool refuses its calls, and who tried which is on record', async () => {
    await apply({ access: "  - { subjects: ['u1'], agents: ['*'], server: orders-db, tools: [read_rows] }" });
    const client = await stage.client();
    const result = await called(client, 'send_mail', { to: 'nobody@example.com' });
    expect(approvalOf(result)).toMatchObject({ status: 'refused', code: 'ACCESS_DENIED' });
    const facts = (await stage.facts()).filter(({ kind }) => kind === 'gateway.refused');
    expect(facts.at(-1)?.body).toMatchObject({
      ...{ requester: { subject: 'u1' }, server: 'orders-db', tool: 'send_mail', code: 'ACCESS_DENIED' },
    });
  });

  it('that is not applied yet lets no gateway start [BYPASS-5]', async () => {
    const other = await startGatewayStage({ worker: false }).catch((error: unknown) => error);
    // The stage applies one; without it there is nothing to start with.
    expect(other).not.toBeInstanceOf(Error);
    const empty = other as GatewayStage;
    await empty.store.write(({ db }) => db.updateTable('policies').set({ active: 0 }).execute());
    await expect(empty.anotherGateway()).rejects.toThrow(/No policy is active, so nothing may run/);
    await empty.close();
  });
});

describe('a secret among the arguments', () => {
  it('stands in no line of the log and nowhere in the ledger, and is bound all the same', async () => {
    const log = recordedLog();
    const gateway = await stage.anotherGateway({}, { log });
    const client = await stage.client({ gateway });
    const secret = 'correct-horse-battery-77';
    const given = { ...migration('with secret'), password: secret };
    const first = approvalOf(await called(client, 'apply_migration', given));
    const other = approvalOf(await called(client, 'apply_migration', { ...given, password: 'another-one' }));
    expect(other.operationId).not.toBe(first.operationId);
    const request = (await openRequests(stage)).find(({ operationId }) => operationId === first.operationId);
    expect(JSON.stringify(request)).not.toContain(secret);
    if (request !== undefined) await stage.decide(request, 'allow');
    const done = await collected(client, 'apply_migration', given);
    expect(approvalOf(done).status).toBe('approved');
    expect(stage.tools.runs.at(-1)?.arguments['password']).toBe(secret);
    const path = fileURLToPath(stage.ledgerUrl);
    for (const file of [path, `${path}-wal`]) expect((await readFile(file)).includes(secret)).toBe(false);
    expect(JSON.stringify(log.entries)).not.toContain(secret);
  });
});
