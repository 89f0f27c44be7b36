import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToolServers } from '../../activities/tool-servers';
import type { ToolServers } from '../../activities/tool-servers';
import type { ToolAnswer, ToolServer } from '../../activities/tool-server';
import { eventually } from '../support/eventually';
import { serverEntry } from '../support/server-entry';

const SCRIPT = join(__dirname, '../support/stdio-tool-server.cjs');

let folder: string;
let servers: ToolServers;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stdio-'));
  servers = createToolServers({
    resolveSecret: (name) => (name === 'SECRET' ? 's3' : undefined),
    log: { warn: () => undefined },
  });
});
afterEach(async () => {
  await servers.closeAll();
  await rm(folder, { recursive: true });
});

function server({ args = [SCRIPT], env = {}, command = process.execPath } = {}): ToolServer {
  const all = { CALLS: join(folder, 'calls'), ...env };
  return servers.get(serverEntry({ kind: 'stdio', command, args, env: all, cwd: null }));
}

function call(name: string, timeoutMs = 10_000): Promise<ToolAnswer> {
  return server().callTool({ name, arguments: {}, timeoutMs });
}

function textOf(answer: ToolAnswer): unknown {
  if (answer.kind !== 'result') return answer;
  return (answer.result['content'] as { text: string }[])[0]?.text;
}

const calls = () => readFile(join(folder, 'calls'), 'utf8');

describe('a server on stdio', () => {
  it('is one process for all calls', async () => {
    const listing = await server().listTools();
    expect(listing.ok && [...listing.tools.keys()].slice(0, 2)).toEqual(['pid', 'variable']);
    const pids = await Promise.all([call('pid'), call('pid')]);
    expect(textOf(pids[0])).toEqual(textOf(pids[1]));
  });

  it('gets the environment of the policy, with its secrets, and nothing else of ours', async () => {
    const given = server({ env: { GIVEN: 'is ${SECRET}' } });
    expect(textOf(await given.callTool({ name: 'variable', arguments: {}, timeoutMs: 10_000 }))).toBe('is s3');
  });

  it('is not started where a secret is missing', async () => {
    const listing = await server({ env: { GIVEN: '${NOT_SET}' } }).listTools();
    expect(listing).toEqual({
      ok: false,
      detail: '${NOT_SET} is not set; set it where the worker runs and start it again',
    });
  });

  it('that dies in the middle of a call leaves the outcome open at once, and is started anew for the next', async () => {
    await call('pid');
    const start = performance.now();
    expect(await call('die')).toEqual({
      kind: 'ambiguous',
      detail: 'the process of the server ended (exit code 3): the disk is full',
    });
    expect(performance.now() - start).toBeLessThan(500);
    expect(await calls()).toBe('pid\ndie\n');
    expect((await call('pid')).kind).toBe('result');
  });

  it('that cannot be started is notSent, and says why', async () => {
    const missing = server({ command: join(folder, 'no-such-program') });
    const answer = await missing.callTool({ name: 'pid', arguments: {}, timeoutMs: 10_000 });
    expect(answer.kind).toBe('notSent');
    expect(answer.kind === 'notSent' && answer.detail).toMatch(/cannot be started: spawn .* ENOENT$/);
  });

  it('that ends at its start is notSent, with the last it said, and is not started in a loop', async () => {
    const broken = server({ args: [SCRIPT, '--broken'] });
    const listings = [];
    for (let round = 0; round < 20; round += 1) listings.push(await broken.listTools());
    expect(listings.every((listing) => !listing.ok && listing.detail.endsWith('no database given'))).toBe(true);
  });

  it('leaves the outcome open when the time is over', async () => {
    expect(await call('hang', 200)).toEqual({ kind: 'ambiguous', detail: 'no answer within 200 ms' });
    expect((await call('pid')).kind).toBe('result');
  });

  it('may write lines that are no messages', async () => {
    expect(textOf(await call('chatty'))).toBe('done');
  });

  it('carries 5 MiB of characters that are split over chunks', async () => {
    expect(textOf(await call('big'))).toBe('é'.repeat(2_621_440));
  });

  it('leaves the outcome open beyond 32 MiB', async () => {
    expect(await call('too_big')).toEqual({ kind: 'ambiguous', detail: 'the answer is longer than 33558528 bytes' });
    expect((await call('pid')).kind).toBe('result');
  });

  it('is refused when it asks back, and the outcome is what the tool then reports [GATE-12]', async () => {
    expect(textOf(await call('ask'))).toBe('MCP error -32601: This client does not serve sampling/createMessage');
  });

  it('ends with its session when idle', async () => {
    servers = createToolServers({ resolveSecret: () => undefined, log: { warn: () => undefined }, idleMs: 20 });
    const pid = Number(textOf(await call('pid')));
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
    expect(Number(textOf(await call('pid')))).not.toBe(pid);
  });

  it('answers nothing any more after the close', async () => {
    const open = server();
    await open.callTool({ name: 'pid', arguments: {}, timeoutMs: 10_000 });
    await servers.closeAll();
    expect(await open.callTool({ name: 'pid', arguments: {}, timeoutMs: 10_000 })).toEqual({
      kind: 'notSent',
      detail: 'the connections to tool servers are closed',
    });
  });
});
