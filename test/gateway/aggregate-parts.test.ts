import fc from 'fast-check';
import { createAggregateEndpoint } from '../../gateway/aggregate/aggregate-endpoint';
import { ListCursors } from '../../gateway/aggregate/list-cursors';
import { Routes } from '../../gateway/aggregate/routes';
import { shownName } from '../../gateway/aggregate/shown-name';
import { mayComeFrom } from '../../gateway/aggregate/uri-template';
import { createStdioEndpoint } from '../../gateway/stdio/stdio-endpoint';
import { RawClient, serve, whole } from '../support/gateway-stdio-client';
import { testGate } from '../support/gateway-stdio-gate';
import { ODD_SERVER } from '../support/gateway-stdio-stage';
import { recordedLog } from '../support/recorded-log';

describe('the name under which a tool is shown', () => {
  it.each([
    { server: 'a', name: 'b', shown: 'a__b' },
    { server: 'a'.repeat(30), name: 'b'.repeat(32), shown: `${'a'.repeat(30)}__${'b'.repeat(32)}` },
    { server: 'a'.repeat(31), name: 'b'.repeat(32), shown: `${'a'.repeat(19)}__${'b'.repeat(32)}_277dd0c123` },
    { server: 'a', name: '😀'.repeat(90), shown: `a__${'😀'.repeat(50)}_613007c53c` },
  ])('is $shown', ({ server, name, shown }) => {
    expect(shownName(server, name)).toBe(shown);
  });

  it('has at most 64 characters, whatever the names', () => {
    const names = fc.tuple(
      fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
      fc.string({ maxLength: 200, unit: 'grapheme' }),
    );
    fc.assert(fc.property(names, ([server, name]) => Array.from(shownName(server, name)).length <= 64));
  });
});

describe('a URI template', () => {
  it.each([
    { template: 'a://{id}', uri: 'a://7', may: true },
    { template: 'a://{id}', uri: 'b://7', may: false },
    { template: 'a://{+path}/x{?q,r}', uri: 'a://b/c/x?q=1', may: true },
    { template: 'a://{x}/m/{y}/end', uri: 'a://1/m/2/end', may: true },
    { template: 'a://{x}/m/{y}/end', uri: 'a://1/n/2/end', may: false },
    { template: 'a://m{x}m', uri: 'a://m', may: false },
    { template: 'a://fixed', uri: 'a://fixed', may: true },
    { template: 'a://fixed', uri: 'a://fixed2', may: false },
    { template: 'a://{open', uri: 'a://7', may: false },
  ])('$template may give $uri: $may', ({ template, uri, may }) => {
    expect(mayComeFrom(template, uri)).toBe(may);
  });

  it('is compared in time that grows with its length only', () => {
    const startedMs = performance.now();
    expect(mayComeFrom(`a${'{x}a'.repeat(20_000)}b`, 'a'.repeat(60_000))).toBe(false);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
});

describe('a cursor', () => {
  it('holds the places that it was made of, whatever they are', () => {
    const cursors = new ListCursors();
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([server]) => server }), (places) => {
        const given = places.filter(([server]) => server !== '__proto__');
        expect([...(cursors.read('tools/list', cursors.write('tools/list', new Map(given))) ?? [])].sort()).toEqual(
          [...given].sort(),
        );
      }),
    );
  });
});

describe('a routing table', () => {
  const page = (changes: number, cursor: string | null, next: string | null, ...names: readonly string[]) => ({
    ...{ changes, cursor, next },
    entries: names.map((key) => ({ shown: `s__${key}`, key })),
  });

  it('is complete once all pages came in a row, and then holds nothing that was there before', () => {
    const routes = new Routes();
    routes.learn('s', page(0, null, null, 'old'));
    routes.learn('s', page(0, null, '2', 'a'));
    expect(routes.ownersOf('s__old')).toEqual([{ server: 's', key: 'old' }]);
    routes.learn('s', page(0, '2', null, 'b'));
    expect(routes.ownersOf('s__old')).toEqual([]);
    expect(routes.all().map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('is not complete with a page of a listing before, nor with one that was asked for before a change', () => {
    const routes = new Routes();
    routes.learn('s', page(0, null, '2', 'a'));
    routes.learn('s', page(0, '3', null, 'c'));
    expect(routes.isComplete('s')).toBe(false);
    routes.clear('s');
    routes.learn('s', page(0, '2', null, 'b'));
    routes.learn('s', page(0, null, null, 'b'));
    expect(routes.isComplete('s')).toBe(false);
    routes.learn('s', page(1, null, null, 'd'));
    expect(routes.isComplete('s')).toBe(true);
  });
});

describe('/mcp by itself', () => {
  const log = recordedLog();
  const endpointOf = (name: string, env: Readonly<Record<string, string>>) =>
    createStdioEndpoint({
      ...{ name, log, gate: testGate(), resolveSecret: () => undefined },
      transport: { kind: 'stdio', command: process.execPath, args: [ODD_SERVER], env, cwd: null },
    });
  let endpoints: Readonly<Record<'ok' | 'mute', ReturnType<typeof endpointOf>>>;
  let served: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    endpoints = { ok: endpointOf('ok', {}), mute: endpointOf('mute', { MUTE: 'yes' }) };
    served = await serve(
      createAggregateEndpoint({
        ...{ log, joinMs: { first: 2_500, later: 100 }, edge: { sessionIdleMs: 60_000, sessionsPerRequester: 5 } },
        accessible: () => Promise.resolve(['mute', 'ok']),
        find: (server) => Promise.resolve({ kind: 'endpoint', endpoint: endpoints[server === 'ok' ? 'ok' : 'mute'] }),
      }),
    );
  });
  afterAll(async () => {
    await served.close();
    await Promise.all([endpoints.ok.close(), endpoints.mute.close()]);
  });

  it('waits no longer than it is told for a server that does not answer initialize', async () => {
    const client = new RawClient(served.url);
    await client.initialise();
    const [list] = await whole(client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    expect(list).toContain('"name":"ok__echo"');
    const [answer] = await whole(client.call('2', 'ok__echo'));
    expect(answer).toContain('"result"');
  });

  it('lets nobody call a tool whose token has no scope for it, though they may list', async () => {
    const client = new RawClient(served.url, { headers: { 'X-May-Call': 'no' } });
    await client.initialise();
    const [list] = await whole(client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    expect(list).toContain('"name":"ok__echo"');
    const refused = await client.call('2', 'ok__echo');
    await refused.ended;
    expect(refused.status).toBe(403);
    expect(refused.messages.join()).toContain('The token may not call tools');
  });
});
