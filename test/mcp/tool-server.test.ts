import { createToolServers } from '../../activities/tool-servers';
import type { ToolServers } from '../../activities/tool-servers';
import type { ToolAnswer } from '../../activities/tool-server';
import { eventually } from '../support/eventually';
import { httpServerEntry } from '../support/server-entry';
import { startToolServer } from '../support/tool-server';
import type { Behaviour, TestToolServer } from '../support/tool-server';

let upstream: TestToolServer;
let servers: ToolServers;

beforeEach(async () => {
  upstream = await startToolServer();
  servers = createToolServers({ resolveSecret: () => undefined, log: { warn: () => undefined } });
});

afterEach(async () => {
  await servers.closeAll();
  await upstream.close();
});

function call(tool: string, args = {}, timeoutMs = 5_000): Promise<ToolAnswer> {
  return servers.get(httpServerEntry(upstream.url)).callTool({ name: tool, arguments: args, timeoutMs });
}

async function timed<T>(work: Promise<T>): Promise<{ value: T; tookMs: number }> {
  const start = performance.now();
  const value = await work;
  return { value, tookMs: performance.now() - start };
}

describe('tools/list', () => {
  it('gives each tool as the server lists it, with its hints', async () => {
    const listing = await servers.get(httpServerEntry(upstream.url)).listTools();
    if (!listing.ok) throw new Error(listing.detail);
    expect([...listing.tools.keys()]).toEqual([
      'read_rows',
      'delete_rows',
      'apply_migration',
      'find_migration',
      'schema_version',
      'plan_migration',
      'send_mail',
    ]);
    const migration = listing.tools.get('apply_migration');
    expect(migration?.title).toBe('Apply a migration');
    expect(migration?.hints).toEqual({ readOnly: false, destructive: true });
    expect(migration?.raw['annotations']).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
    });
    expect(listing.tools.get('send_mail')?.hints).toEqual({ readOnly: null, destructive: null });
  });

  it('is asked anew each time, so a changed definition is seen [BIND-11]', async () => {
    const server = servers.get(httpServerEntry(upstream.url));
    await server.listTools();
    upstream.changeTool('apply_migration', { description: 'Does something else.' });
    const listing = await server.listTools();
    expect(listing.ok && listing.tools.get('apply_migration')?.raw['description']).toBe('Does something else.');
  });

  it('says why a server cannot be reached', async () => {
    await upstream.stop();
    const listing = await servers.get(httpServerEntry(upstream.url)).listTools();
    const { port } = new URL(upstream.url);
    expect(listing).toEqual({ ok: false, detail: `connect ECONNREFUSED 127.0.0.1:${port}` });
  });
});

describe('what came back of a call', () => {
  it('is the whole result, also where it is an error of the tool [EXEC-11]', async () => {
    upstream.behave('delete_rows', { kind: 'isError' });
    expect(await call('delete_rows', { id: 7 })).toEqual({
      kind: 'result',
      bytes: 149,
      result: {
        content: [{ type: 'text', text: '{"done":true,"tool":"delete_rows"}' }],
        structuredContent: { done: true, tool: 'delete_rows' },
        isError: true,
      },
    });
    expect(upstream.runsOf('delete_rows')).toHaveLength(1);
  });

  const challenge = { 'www-authenticate': 'Bearer' };
  test.each<{ name: string; behaviour: Behaviour; kind: ToolAnswer['kind'] }>([
    { name: '401 with a challenge', behaviour: { kind: 'http', status: 401, headers: challenge }, kind: 'notSent' },
    { name: '403 with a challenge', behaviour: { kind: 'http', status: 403, headers: challenge }, kind: 'notSent' },
    { name: '401 without a challenge', behaviour: { kind: 'http', status: 401 }, kind: 'ambiguous' },
    { name: '404, also in a new session', behaviour: { kind: 'http', status: 404 }, kind: 'notSent' },
    { name: 'no such method', behaviour: { kind: 'error', code: -32601 }, kind: 'notSent' },
    { name: 'invalid parameters', behaviour: { kind: 'error', code: -32602 }, kind: 'notSent' },
    { name: 'parse error', behaviour: { kind: 'error', code: -32700 }, kind: 'notSent' },
    { name: 'internal error', behaviour: { kind: 'error', code: -32603, commit: true }, kind: 'ambiguous' },
    { name: 'an error of the server itself', behaviour: { kind: 'error', code: -32000 }, kind: 'ambiguous' },
    { name: '500', behaviour: { kind: 'http', status: 500 }, kind: 'ambiguous' },
    { name: '503', behaviour: { kind: 'http', status: 503 }, kind: 'ambiguous' },
    { name: '202 without an answer', behaviour: { kind: 'http', status: 202 }, kind: 'ambiguous' },
    {
      name: 'a redirect',
      behaviour: { kind: 'http', status: 307, headers: { location: '/other' } },
      kind: 'ambiguous',
    },
    { name: 'a cut connection', behaviour: { kind: 'drop' }, kind: 'ambiguous' },
    { name: 'a connection cut after the effect', behaviour: { kind: 'commitThenDrop' }, kind: 'ambiguous' },
  ])('proves nothing but what it proves: $name is $kind, sent once [EXEC-11]', async ({ behaviour, kind }) => {
    const server = servers.get(httpServerEntry(upstream.url));
    await server.listTools();
    upstream.behave('delete_rows', behaviour);
    const answer = await call('delete_rows', { id: 7 });
    expect(answer.kind).toBe(kind);
    expect(upstream.receivedBy('delete_rows')).toHaveLength(
      behaviour.kind === 'http' && behaviour.status === 404 ? 2 : 1,
    );
  });

  it('lists anew, or answers with a listing that was begun late enough; a failed one answers nobody later', async () => {
    const server = servers.get(httpServerEntry(upstream.url));
    const names = async (sinceMs?: number): Promise<readonly string[]> => {
      const listing = await server.listTools(sinceMs);
      return listing.ok ? [...listing.tools.keys()] : [listing.detail];
    };
    const beforeMs = performance.now();
    const first = await names();
    const betweenMs = performance.now();
    upstream.changeTool('delete_rows', null);
    expect(await names(beforeMs)).toEqual(first);
    expect(await names(betweenMs)).not.toContain('delete_rows');
    upstream.changeTool('send_mail', null);
    expect(await names()).not.toContain('send_mail');
    await upstream.stop();
    const failedMs = performance.now();
    expect((await server.listTools()).ok).toBe(false);
    await upstream.start();
    expect(await names(failedMs)).toContain('read_rows');
  });

  it('is notSent where the connection is refused, also with a warm session [EXEC-11]', async () => {
    await call('read_rows');
    await upstream.stop();
    expect((await call('delete_rows', { id: 7 })).kind).toBe('notSent');
    expect(upstream.runs).toEqual([]);
  });

  it('is notSent where no secure connection stands: not a byte of the call has left [EXEC-11]', async () => {
    const server = servers.get(httpServerEntry(upstream.url.replace('http:', 'https:')));
    const answer = await server.callTool({ name: 'delete_rows', arguments: { id: 7 }, timeoutMs: 5_000 });
    expect(answer.kind).toBe('notSent');
    expect(upstream.received).toEqual([]);
  });

  it('is ambiguous for invalid parameters of a tool with an output schema: some servers check it after the run', async () => {
    await servers.get(httpServerEntry(upstream.url)).listTools();
    upstream.behave('find_migration', { kind: 'error', code: -32602 });
    expect((await call('find_migration', { operation_id: 'op_1' })).kind).toBe('ambiguous');
  });

  it('is ambiguous when the time is over, and the server is told to stop', async () => {
    upstream.behave('delete_rows', { kind: 'commitThenSilent' });
    const { value, tookMs } = await timed(call('delete_rows', { id: 7 }, 300));
    expect(value).toEqual({ kind: 'ambiguous', detail: 'no answer within 300 ms' });
    expect(tookMs).toBeLessThan(1_000);
    expect(upstream.runsOf('delete_rows')).toHaveLength(1);
    await eventually(() => expect(upstream.cancelled).toHaveLength(1));
  });

  it('ends when its caller gives up', async () => {
    await call('read_rows');
    upstream.behave('delete_rows', { kind: 'hang' });
    const caller = new AbortController();
    const answer = servers
      .get(httpServerEntry(upstream.url))
      .callTool({ name: 'delete_rows', arguments: { id: 7 }, timeoutMs: 5_000, signal: caller.signal });
    await eventually(() => expect(upstream.receivedBy('delete_rows')).toHaveLength(1));
    caller.abort();
    expect(await answer).toEqual({ kind: 'ambiguous', detail: 'the call was cancelled before it was answered' });
  });

  it('is known within half a second when the server dies in the middle of a call', async () => {
    await call('read_rows');
    upstream.behave('delete_rows', { kind: 'commitThenSilent' });
    const answer = call('delete_rows', { id: 7 }, 20_000);
    await eventually(() => expect(upstream.runsOf('delete_rows')).toHaveLength(1));
    const { value, tookMs } = await timed(upstream.stop().then(() => answer));
    expect(value.kind).toBe('ambiguous');
    expect(tookMs).toBeLessThan(500);
  });

  it('carries 5 MiB', async () => {
    upstream.behave('send_mail', { kind: 'big', chars: 5 * 1_048_576 });
    const answer = await call('send_mail', { to: 'a@example.com' });
    expect(answer.kind === 'result' && answer.bytes).toBe(5_242_919);
  });

  it('is ambiguous beyond 32 MiB', async () => {
    upstream.behave('send_mail', { kind: 'big', chars: 32 * 1_048_576 });
    expect(await call('send_mail', { to: 'a@example.com' })).toEqual({
      kind: 'ambiguous',
      detail: 'the answer is longer than 33554432 bytes',
    });
  });
});

describe('a session', () => {
  it('is opened once and used by all calls', async () => {
    await Promise.all([call('read_rows'), call('read_rows'), call('read_rows')]);
    await call('schema_version');
    expect(upstream.sessionsOpened).toBe(1);
  });

  it('that the server forgot is opened again, and the call sent once', async () => {
    await call('read_rows');
    await upstream.stop();
    await upstream.start();
    expect((await call('delete_rows', { id: 7 })).kind).toBe('result');
    expect(upstream.receivedBy('delete_rows')).toHaveLength(1);
    expect(upstream.sessionsOpened).toBe(2);
  });

  it('is closed when idle, and opened again on demand', async () => {
    servers = createToolServers({ resolveSecret: () => undefined, log: { warn: () => undefined }, idleMs: 30 });
    await call('read_rows');
    await eventually(() => expect(upstream.sessionsOpen).toBe(0));
    expect((await call('read_rows')).kind).toBe('result');
  });

  it('belongs to one identity: a changed one gets another', async () => {
    await servers.get(httpServerEntry(upstream.url)).listTools();
    await servers.get({ ...httpServerEntry(upstream.url), identity: 'sha256:two' }).listTools();
    expect(upstream.sessionsOpened).toBe(2);
  });

  it('carries what the policy puts into _meta', async () => {
    await servers.get(httpServerEntry(upstream.url)).callTool({
      name: 'send_mail',
      arguments: { to: 'ü@例え' },
      meta: { 'dev.holdpoint/operation': 'op_1' },
      timeoutMs: 5_000,
    });
    expect(upstream.received[0]).toEqual({
      tool: 'send_mail',
      arguments: { to: 'ü@例え' },
      meta: { 'dev.holdpoint/operation': 'op_1' },
      operationId: 'op_1',
    });
  });
});
