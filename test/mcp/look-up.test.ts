import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askOutcome } from '../../activities/look-up';
import type { FoundOutcome } from '../../activities/look-up';
import { createToolServers } from '../../activities/tool-servers';
import type { ToolServers } from '../../activities/tool-servers';
import type { OutcomeContract } from '../../core/policy';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { httpServerEntry } from '../support/server-entry';
import { startToolServer } from '../support/tool-server';
import type { TestToolServer } from '../support/tool-server';

const secrets: Readonly<Record<string, string>> = { LOOK_UP_TOKEN: 'secret-1' };

let servers: ToolServers;
let tools: TestToolServer;
beforeAll(async () => {
  tools = await startToolServer();
  servers = createToolServers({ resolveSecret: () => undefined, log: { warn: () => undefined } });
});
afterAll(async () => {
  await servers.closeAll();
  await tools.close();
});

function contract(source: OutcomeContract['source'], more: Partial<OutcomeContract> = {}): OutcomeContract {
  const executed = { at: '/state', equals: 'applied' };
  return { source, executed, authoritative: true, settleAfterMs: 0, budgetMs: 0, ...more };
}

function ask(asked: OutcomeContract, operationId = 'op_1'): Promise<FoundOutcome> {
  return askOutcome(asked, {
    operationId,
    arguments: {},
    servers,
    server: httpServerEntry(tools.url),
    resolveSecret: (name) => secrets[name],
  });
}

describe('a look-up by a tool', () => {
  const read = { tool: 'find_migration', arguments: { operation_id: { kind: 'operationId' } } } as const;
  const executed = { at: '/structuredContent/applied', equals: true };
  const asked = contract({ kind: 'tool', read }, { executed });

  beforeAll(() =>
    servers.get(httpServerEntry(tools.url)).callTool({
      name: 'send_mail',
      arguments: { to: 'a@example.com' },
      meta: { 'dev.holdpoint/operation': 'op_1' },
      timeoutMs: 5_000,
    }),
  );
  afterEach(() => tools.behave('find_migration', undefined));

  it('finds an effect', async () => {
    expect(await ask(asked)).toEqual({
      kind: 'executed',
      result: { content: [{ type: 'text', text: '{"applied":true}' }], structuredContent: { applied: true } },
    });
  });

  it('proves its absence, where it is authoritative', async () => {
    expect(await ask(asked, 'op_2')).toEqual({ kind: 'absent' });
    expect(await ask({ ...asked, authoritative: false }, 'op_2')).toEqual({
      kind: 'notYet',
      detail: 'the look-up shows no effect yet',
    });
  });

  it.each([
    { name: 'an error', behaviour: { kind: 'error' } as const },
    { name: 'a result that is an error', behaviour: { kind: 'isError' } as const },
    { name: 'an answer of another form', behaviour: { kind: 'big', chars: 10 } as const },
    { name: 'a cut connection', behaviour: { kind: 'drop' } as const },
  ])('proves nothing by $name', async ({ behaviour }) => {
    tools.behave('find_migration', behaviour);
    expect((await ask(asked, 'op_2')).kind).toBe('unreachable');
  });

  it('is asked again at once where the connection was lost: it only reads', async () => {
    tools.behave('find_migration', { kind: 'drop' }, 1);
    expect((await ask(asked)).kind).toBe('executed');
  });
});

describe('a look-up by HTTP', () => {
  let server: Server;
  let url: string;
  let seen: { url: string | undefined; authorization: string | undefined } | undefined;
  let respond: { status: number; type: string; body: string };
  const source = (path = '/operations/{operationId}') =>
    ({ kind: 'http', url: `${url}${path}`, headers: { authorization: 'Bearer ${LOOK_UP_TOKEN}' } }) as const;

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen = { url: request.url, authorization: request.headers.authorization };
      response.writeHead(respond.status, { 'content-type': respond.type }).end(respond.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    seen = undefined;
    respond = { status: 200, type: 'application/json', body: '{"state":"applied"}' };
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('asks with the id in its place and finds an effect', async () => {
    expect(await ask(contract(source()), 'op/1 é')).toEqual({ kind: 'executed', result: { state: 'applied' } });
    expect(seen).toEqual({ url: '/operations/op%2F1%20%C3%A9', authorization: 'Bearer secret-1' });
  });

  it.each([
    { name: 'another state', respond: { body: '{"state":"pending"}' }, kind: 'absent' },
    { name: 'no state', respond: { body: '{}' }, kind: 'absent' },
    { name: '404 in JSON', respond: { status: 404, body: '{"error":"unknown"}' }, kind: 'absent' },
    { name: '404 in HTML', respond: { status: 404, type: 'text/html', body: '<h1>404</h1>' }, kind: 'unreachable' },
    { name: 'HTML', respond: { type: 'text/html', body: '<h1>Log in</h1>' }, kind: 'unreachable' },
    { name: 'broken JSON', respond: { body: '{"state":' }, kind: 'unreachable' },
    { name: 'a text', respond: { body: '"applied"' }, kind: 'unreachable' },
    { name: '500', respond: { status: 500 }, kind: 'unreachable' },
    { name: '401', respond: { status: 401 }, kind: 'unreachable' },
    { name: 'a redirect', respond: { status: 302 }, kind: 'unreachable' },
  ])('judges $name: $kind', async ({ respond: given, kind }) => {
    respond = { ...respond, ...given };
    expect((await ask(contract(source()))).kind).toBe(kind);
  });

  it('tells null from a missing way', async () => {
    const executed = { at: '/migration/state', equals: 'applied' };
    respond = { ...respond, body: '{"migration":null}' };
    expect((await ask(contract(source(), { executed }))).kind).toBe('absent');
    respond = { ...respond, body: '{"migrations":[]}' };
    expect(await ask(contract(source(), { executed }))).toEqual({
      kind: 'unreachable',
      detail: 'the answer of the look-up has nothing at /migration/state',
    });
  });

  it('sends nothing where a secret is not set', async () => {
    const headers = { authorization: '${MISSING}' };
    expect(await ask(contract({ ...source(), headers }))).toEqual({
      kind: 'unreachable',
      detail: '${MISSING} is not set; set it where the worker runs and start it again',
    });
    expect(seen).toBeUndefined();
  });

  it('says that nobody listens', async () => {
    const found = await ask(contract({ kind: 'http', url: 'http://127.0.0.1:1/{operationId}', headers: {} }));
    expect(found).toEqual({ kind: 'unreachable', detail: 'connect ECONNREFUSED 127.0.0.1:1' });
  });
});

describe('a look-up by SQL', () => {
  let folder: string;
  let database: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'look-up-'));
    database = join(folder, 'orders.db');
    const { open } = await sqliteEngine();
    const orders = open(database);
    orders.exec(`CREATE TABLE done (id TEXT, state TEXT); INSERT INTO done VALUES ('op_1', 'applied')`);
    orders.exec(`INSERT INTO done VALUES ('op_3', 'applied'), ('op_3', 'applied')`);
    orders.close();
  });
  afterAll(() => rm(folder, { recursive: true }));
  const query = 'SELECT state FROM done WHERE id = ?';

  it('finds a row, no row, or two of them', async () => {
    const asked = contract({ kind: 'sql', database, query });
    expect(await ask(asked)).toEqual({ kind: 'executed', result: { state: 'applied' } });
    expect(await ask(asked, 'op_2')).toEqual({ kind: 'absent' });
    expect((await ask(asked, 'op_3')).kind).toBe('unreachable');
  });

  it('cannot be asked without its file or its secret', async () => {
    expect((await ask(contract({ kind: 'sql', database: `${database}.gone`, query }))).kind).toBe('unreachable');
    expect((await ask(contract({ kind: 'sql', database: '${DATABASE}', query }))).kind).toBe('unreachable');
  });
});
