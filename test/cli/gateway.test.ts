import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pino from 'pino';
import { openStore } from '../../ledger/open-store';
import { assertBuilt, run, start, temporaryFolder, type CliProcess } from '../support/cli';
import { eventually } from '../support/eventually';
import { callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

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

const here = (...args: string[]) => run(args, { cwd: folder });
const AMIRA = ['--subject', 'user:amira', '--agent', 'claude-code'];

describe('holdpoint gateway token', () => {
  test('new prints the token alone to stdout, once, and makes a file that holds only its hash, for its owner alone', async () => {
    const { code, stdout, stderr } = await here('gateway', 'token', 'new', 'tokens.json', ...AMIRA);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hp_[A-Za-z0-9_-]{43}\n$/);
    expect(stderr).toMatch(
      /^tok_[0-9a-f]{12} is for user:amira through claude-code\. tokens\.json holds its hash alone/,
    );
    const file = join(folder, 'tokens.json');
    expect(readFileSync(file, 'utf8')).not.toContain(stdout.trim());
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('new --json, list and revoke agree on ids, and none but the first shows a token', async () => {
    const made = await here('gateway', 'token', 'new', 'tokens.json', ...AMIRA, '--chain', 'bot', '--json');
    const { id, token } = JSON.parse(made.stdout) as { id: string; token: string };
    expect(made.stderr).toBe('');
    const listed = await here('gateway', 'token', 'list', 'tokens.json', '--json');
    expect(JSON.parse(listed.stdout)).toEqual([
      { id, subject: 'user:amira', agent: 'claude-code', chain: ['bot'], createdAtMs: expect.any(Number) as number },
    ]);
    const shown = await here('gateway', 'token', 'list', 'tokens.json');
    expect(shown.stdout).toMatch(new RegExp(`^ID .*\\n${id} +user:amira +claude-code +bot +\\d{4}-`));
    expect(`${listed.stdout}${shown.stdout}`).not.toContain(token);
    const revoked = await here('gateway', 'token', 'revoke', 'tokens.json', id);
    expect(revoked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('the next request with the token') as string,
    });
    expect((await here('gateway', 'token', 'list', 'tokens.json')).stdout).toBe('tokens.json holds no token.\n');
    expect(await here('gateway', 'token', 'revoke', 'tokens.json', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`tokens.json holds no token ${id}. Nothing was changed.`) as string,
    });
  });

  test.each([
    { args: ['new', 'tokens.json', '--subject', 'group:dba', '--agent', 'bot'], code: 1, says: 'No token was made.' },
    { args: ['new', 'tokens.json', '--agent', 'bot'], code: 1, says: "required option '--subject <subject>'" },
    { args: ['list', 'none.json'], code: 2, says: 'none.json: it cannot be read; make its first token' },
    { args: ['revoke', 'none.json', 'tok_1'], code: 2, says: 'none.json: it cannot be read' },
  ])('$args ends with $code and says why', async ({ args, code, says }) => {
    const ran = await here('gateway', 'token', ...args);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(says);
  });

  test('never replaces a file that it cannot read', async () => {
    writeFileSync(join(folder, 'tokens.json'), '{', { mode: 0o600 });
    expect(await here('gateway', 'token', 'new', 'tokens.json', ...AMIRA)).toMatchObject({ code: 1, stdout: '' });
    expect(readFileSync(join(folder, 'tokens.json'), 'utf8')).toBe('{');
  });
});

function gateway(env: NodeJS.ProcessEnv): CliProcess {
  const child = start(['gateway'], { env, cwd: folder });
  running.push(child);
  return child;
}

async function ended(env: NodeJS.ProcessEnv): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = gateway(env);
  return { code: await child.exited, ...child.output };
}

describe('holdpoint gateway', () => {
  test('says everything that is wrong with its environment at once', async () => {
    const { code, stdout, stderr } = await ended({
      HOLDPOINT_PAYLOAD_KEY: 'c2hvcnQ=',
      HOLDPOINT_GATEWAY_PORT: 'x',
      HOLDPOINT_GATEWAY_HOST: '0.0.0.0',
      HOLDPOINT_CONSOLE_URL: 'approve.example',
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const text of [
      'The gateway cannot start:',
      'HOLDPOINT_CONSOLE_URL is an address without path, user and password',
      'HOLDPOINT_LEDGER_URL is not set',
      'HOLDPOINT_PERMIT_KEY_FILE is not set',
      'HOLDPOINT_PAYLOAD_KEY holds 5 bytes of base64; it holds 32',
      'HOLDPOINT_GATEWAY_PORT is a port number',
      'HOLDPOINT_GATEWAY_HOST is 0.0.0.0, every address of this machine',
      'The gateway serves nobody whom it does not know',
      '"holdpoint gateway token new FILE" makes a local token.',
    ])
      expect(stderr).toContain(text);
    expect(stderr).not.toContain('c2hvcnQ');
  });

  test('does not start without a policy, and offers "holdpoint init" [BYPASS-5]', async () => {
    const [key, tokens] = [join(folder, 'permit.pem'), join(folder, 'tokens.json')];
    await here('key', 'new', key);
    await here('gateway', 'token', 'new', tokens, ...AMIRA);
    const ledgerUrl = pathToFileURL(join(folder, 'ledger.db')).href;
    await (await openStore(ledgerUrl, pino({ level: 'silent' }))).close();
    const env = {
      HOLDPOINT_LEDGER_URL: ledgerUrl,
      HOLDPOINT_PERMIT_KEY_FILE: key,
      HOLDPOINT_GATEWAY_TOKENS: tokens,
      HOLDPOINT_GATEWAY_PORT: '0',
      TEMPORAL_ADDRESS: process.env['HOLDPOINT_TEST_TEMPORAL'],
    };
    const none = await ended(env);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('The gateway cannot start: No policy is active, so nothing may run.');
    expect(none.stderr).toContain('[NO_POLICY]\nNothing is passed on without a policy. "holdpoint init" writes one');
    expect(await ended({ ...env, HOLDPOINT_PERMIT_KEY_FILE: join(folder, 'none.pem') })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[PERMIT_KEY]') as string,
    });
  });

  describe('in front of a Temporal and a ledger', () => {
    let stage: GatewayStage;
    let env: NodeJS.ProcessEnv;
    beforeAll(async () => {
      stage = await startGatewayStage();
      const { temporal, taskQueue, ledgerUrl, permitKeyFile } = stage.settings;
      env = {
        TEMPORAL_ADDRESS: temporal.address,
        HOLDPOINT_TASK_QUEUE: taskQueue,
        HOLDPOINT_LEDGER_URL: ledgerUrl,
        HOLDPOINT_PERMIT_KEY_FILE: permitKeyFile,
        HOLDPOINT_GATEWAY_PORT: '0',
        HOLDPOINT_TRUST: 'namespace',
      };
    });
    afterAll(() => stage.close());

    const urlOf = async (child: CliProcess): Promise<string> =>
      eventually(() => {
        const [, url] = /"url":"([^"]+)".*"gateway\.listening"/.exec(child.output.stdout) ?? [];
        if (url === undefined) throw new Error(`not listening: ${child.output.stdout}${child.output.stderr}`);
        return url;
      }, 30_000);

    const withToken = async (): Promise<{ token: string; env: NodeJS.ProcessEnv }> => {
      const made = await here('gateway', 'token', 'new', 'tokens.json', '--subject', 'u1', '--agent', 'bot');
      return {
        token: made.stdout.trim(),
        env: { ...env, HOLDPOINT_GATEWAY_TOKENS: join(folder, 'tokens.json') },
      };
    };

    test('serves a real client, logs JSON lines, and at SIGTERM ends in order with 0', async () => {
      const { token, env: settings } = await withToken();
      const child = gateway(settings);
      const url = await urlOf(child);
      expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ healthy: true });
      const client = new Client({ name: 'test', version: '1' });
      const headers = { authorization: `Bearer ${token}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${url}/mcp/orders-db`), { requestInit: { headers } }),
      );
      expect(textOf(await callTool(client, 'read_rows', { table: 'orders' }))).not.toContain('NOT');
      await client.close();
      child.signal('SIGTERM');
      expect(await child.exited).toBe(0);
      const lines = child.output.stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg);
      const own = lines.filter((msg) => msg.startsWith('gateway.'));
      expect(own).toEqual(['gateway.listening', 'gateway.stopping', 'gateway.stopped']);
      expect(`${child.output.stdout}${child.output.stderr}`).not.toContain(token);
    });

    test('names the port where something else listens on it, and ends with 3', async () => {
      const taken = createServer().listen(0, '127.0.0.1').unref();
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const { env: own } = await withToken();
      expect(await ended({ ...own, HOLDPOINT_GATEWAY_PORT: String(port) })).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(`The port ${port} cannot be listened on`) as string,
      });
      taken.close();
    });
  });
});

describe('docs/cli.md', () => {
  test('names every setting of the gateway', () => {
    const root = join(__dirname, '../..');
    const text = readFileSync(join(root, 'docs/cli.md'), 'utf8');
    const settings = readFileSync(join(root, 'docs/gateway-security.md'), 'utf8');
    const [, table = ''] = settings.split('## Settings');
    const names = [...table.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/[A-Z_]+/g)].map(([name]) => `HOLDPOINT_GATEWAY_${name}`),
    );
    expect(names.length).toBeGreaterThan(10);
    for (const name of [...names, 'HOLDPOINT_GATEWAY_TOKEN']) expect(text).toContain(`\`${name}\``);
  });
});

describe('docs/clients.md', () => {
  const text = readFileSync(join(__dirname, '../../docs/clients.md'), 'utf8');
  const blocks = (kind: string) =>
    [...text.matchAll(new RegExp(`\`\`\`${kind}\\n([^]*?)\`\`\``, 'g'))].map(([, body = '']) => body);

  test('has settings that are JSON', () => {
    expect(blocks('json')).toHaveLength(3);
    for (const block of blocks('json')) expect(() => JSON.parse(block) as unknown).not.toThrow();
  });

  test('has the address and the token in the form that "holdpoint dev" prints', () => {
    const addresses = new Set(
      [...text.matchAll(/http:\/\/127\.0\.0\.1:\d+\/\S*?mcp\/[\w-]+/g)].map(([found]) => found),
    );
    expect([...addresses]).toEqual(['http://127.0.0.1:8484/mcp/orders-db']);
    expect(text).toContain('cat .holdpoint/keys/agent.token');
  });
});
