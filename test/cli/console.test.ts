import { readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pino from 'pino';
import { parsePolicyFile } from '../../core/policy-file';
import { createLedger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import { assertBuilt, run, start, temporaryFolder, type CliProcess } from '../support/cli';
import { eventually } from '../support/eventually';

let folder: string;
let running: CliProcess[];

beforeAll(assertBuilt);

beforeEach(() => {
  folder = temporaryFolder();
  running = [];
});

afterEach(async () => {
  for (const child of running) child.signal('SIGKILL');
  await Promise.all(running.map((child) => child.exited));
  rmSync(folder, { recursive: true, force: true });
});

const POLICY = 'people:\n  dana: { groups: [dba] }\nservers: {}\naccess: []\nrules: []\n';

/** A ledger with one reviewer, the console's keys, and what the environment says of them. */
async function place(): Promise<NodeJS.ProcessEnv> {
  const url = pathToFileURL(join(folder, 'ledger.db')).href;
  const store = await openStore(url, pino({ level: 'silent' }));
  const parsed = parsePolicyFile(POLICY, 'policy.yaml');
  if (!parsed.ok) throw new Error('the policy of this test is none');
  const ledger = createLedger(store, { defaultTrust: 'signatures' });
  await ledger.applyPolicy({ text: POLICY, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' });
  await store.close();
  expect((await run(['console', 'key', 'console.key'], { cwd: folder })).code).toBe(0);
  return {
    HOLDPOINT_LEDGER_URL: url,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    HOLDPOINT_CONSOLE_KEY_FILE: join(folder, 'console.key'),
    HOLDPOINT_CONSOLE_PORT: '0',
  };
}

function startConsole(env: NodeJS.ProcessEnv): CliProcess {
  const child = start(['console'], { env, cwd: folder });
  running.push(child);
  return child;
}

describe('holdpoint console', () => {
  test('key writes 32 bytes for their owner alone, and replaces no file', async () => {
    const made = await run(['console', 'key', 'console.key'], { cwd: folder });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const file = join(folder, 'console.key');
    const key = readFileSync(file, 'utf8');
    expect(key).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run(['console', 'key', 'console.key'], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('console.key exists already. It was not changed.') as string,
    });
    expect(readFileSync(file, 'utf8')).toBe(key);
  });

  test('says everything that is wrong with its environment, without a value of a secret', async () => {
    const env = { HOLDPOINT_CONSOLE_PORT: 'x', HOLDPOINT_CONSOLE_OIDC_CLIENT_SECRET: 's3cret' };
    const ran = await run(['console'], { cwd: folder, env });
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain('HOLDPOINT_CONSOLE_KEY_FILE is not set');
    expect(ran.stderr).toContain('HOLDPOINT_CONSOLE_PORT is a port number');
    expect(ran.stderr).toContain('without HOLDPOINT_CONSOLE_OIDC_ISSUER this has no effect');
    expect(ran.stderr).not.toContain('s3cret');
  });

  test('link and token are for people of the policy alone, and need the key', async () => {
    const env = await place();
    const at = { cwd: folder, env };
    const link = await run(['console', 'link', 'dana', '--to', '/grants'], at);
    expect(link.stdout).toMatch(/^http:\/\/127\.0\.0\.1:8485\/sign-in\/link\?to=%2Fgrants&code=[\w.-]+\n$/);
    expect(await run(['console', 'token', 'mallory'], at)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('The active policy lists no mallory in "people". Nothing was made.') as string,
    });
    expect((await run(['console', 'token', 'dana', '--hours', '9000'], at)).code).toBe(1);
    expect(await run(['console', 'link'], at)).toMatchObject({ code: 1, stdout: '' });
    expect(await run(['console', 'link', 'dana'], { cwd: folder })).toMatchObject({ code: 3, stdout: '' });
  });

  test('runs without Temporal, for all but decisions; SIGTERM ends it in order', async () => {
    const env = await place();
    const child = startConsole(env);
    const url = await eventually(() => {
      const found = /"url":"([^"]+)","signs":false,"msg":"console\.listening"/.exec(child.output.stdout)?.[1];
      if (found === undefined) throw new Error(child.output.stderr);
      return found;
    }, 20_000);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(url, { redirect: 'manual' })).headers.get('location')).toBe('/sign-in?to=%2F');
    const { stdout } = await run(['console', 'token', 'dana', '--hours', '1'], { cwd: folder, env });
    const authorization = `Bearer ${stdout.trim()}`;
    const requests = await fetch(`${url}/api/v1/requests`, { headers: { authorization } });
    expect([requests.status, await requests.json()]).toMatchObject([200, { items: [], next: null }]);
    child.signal('SIGTERM');
    expect(await child.exited).toBe(0);
  });

  test('names the port that is taken', async () => {
    const env = await place();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const child = startConsole({ ...env, HOLDPOINT_CONSOLE_PORT: String(port) });
    expect(await child.exited).toBe(3);
    expect(child.output.stderr).toMatch(new RegExp(`The console cannot start: .*${port}.*\\[PORT_TAKEN\\]`));
    server.close();
  });
});
