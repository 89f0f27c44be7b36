import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { readDevFile, type DevFile } from '../../cli/dev/dev-file';
import {
  assertBuilt,
  bareEnvironment,
  run,
  start,
  startProcess,
  temporaryFolder,
  type CliProcess,
  type Ran,
} from '../support/cli';
import { eventually } from '../support/eventually';
import { approvalOf, callTool } from '../support/gateway-stage';
import { processesWith } from '../support/processes';
import { startReceiver } from '../support/webhook-receiver';

const READY_MS = 45_000;

let folder: string;
let stateDir: string;
let running: CliProcess[];

beforeAll(assertBuilt);

beforeEach(() => {
  folder = temporaryFolder();
  stateDir = join(folder, '.holdpoint');
  running = [];
});

afterEach(async () => {
  for (const child of running) child.signal('SIGKILL');
  await Promise.all(running.map((child) => child.exited));
  await eventually(() => expect(processesWith(folder)).toEqual([]), 15_000);
  rmSync(folder, { recursive: true, force: true });
});

/** The Temporal CLI that the other tests use, so that nothing is downloaded here. */
const env = { TEMPORAL_CLI_PATH: process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] };

function startDev(...args: string[]): CliProcess {
  const dev = start(['dev', ...args], { cwd: folder, env });
  running.push(dev);
  return dev;
}

function startAgent(address: string): CliProcess {
  const agent = startProcess(AGENT, [], { cwd: folder, env: { TEMPORAL_ADDRESS: address } });
  running.push(agent);
  return agent;
}

async function ready(dev: CliProcess): Promise<DevFile> {
  await eventually(
    () => expect(`${dev.output.stdout}${dev.output.stderr}`).toContain('In another terminal of this folder:'),
    READY_MS,
  );
  const file = await readDevFile(stateDir);
  if (file === null) throw new Error('there is no dev file');
  return file;
}

/** A command in another terminal of the same folder, with no flags. */
function here(...args: string[]): Promise<Ran> {
  return run(args, { cwd: folder });
}

async function onlyRequest(): Promise<{ shortId: string; turnId: string }> {
  return eventually(async () => {
    const [record] = JSON.parse((await here('requests', '--json')).stdout) as readonly {
      request: { shortId: string; turnId: string };
    }[];
    if (record === undefined) throw new Error('no request is open');
    return record.request;
  }, READY_MS);
}

/** A client of MCP that does what the terminal says. */
async function connectAsTold({ output }: CliProcess): Promise<Client> {
  const [, url = ''] = /\n {2}(http:\/\/127\.0\.0\.1:\d+\/mcp\/orders-db)\n/.exec(output.stdout) ?? [];
  const [, file = ''] = /user:amira through support-bot: cat (\S+)\n/.exec(output.stdout) ?? [];
  const token = readFileSync(join(folder, file), 'utf8').trim();
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

async function occupiedPort(wanted = 0): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(wanted, '127.0.0.1').unref();
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

const AGENT = join(__dirname, '../../dist/examples/production-migration/agent.js');
const EXAMPLE_POLICY = join(__dirname, '../../examples/production-migration/policy.yaml');
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const MIGRATION = {
  id: 'c1',
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: 'ALTER TABLE orders DROP COLUMN legacy_note' },
};
const EXAMPLE_TURN = join(__dirname, '../../examples/production-migration/turn.json');

describe('holdpoint dev', () => {
  test(
    'runs everything in an empty folder, survives a killed worker, and leaves nothing behind',
    async () => {
      const dev = startDev();
      const { temporal, healthUrl, pid } = await ready(dev);
      expect(pid).toBe(dev.pid);
      expect(dev.output.stdout).toContain(`${temporal.uiUrl}/namespaces/default/workflows?query=WorkflowType`);
      expect(dev.output.stdout).toContain('user:amira through support-bot: starts turns');
      expect(dev.output.stdout).toContain('dana, another person: decides');
      expect(dev.output.stdout).toContain('TRUST: namespace. Unsigned decisions count');
      expect((await fetch(temporal.uiUrl)).status).toBe(200);
      expect(await (await fetch(`${healthUrl}/healthz`)).json()).toEqual({ healthy: true });
      expect((await here('doctor')).code).toBe(0);

      const second = await here('dev');
      expect(second).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`"holdpoint dev" runs in ${stateDir} already: process ${pid}`),
      });

      // The agent program of the README, which knows no more than where Temporal is.
      const agent = startAgent(temporal.address);
      const { shortId, turnId } = await onlyRequest();
      // Killed while the read ran, its outcome would be unknown.
      await eventually(async () => expect((await here('turn', 'show', turnId)).stdout).toMatch(/executed/), READY_MS);
      const [worker] = processesWith('cli/main.js worker').filter((line) => ownedBy(line, dev.pid));
      process.kill(Number.parseInt(worker ?? '', 10), 'SIGKILL');
      await eventually(() =>
        expect(dev.output.stderr).toContain('The worker has ended (SIGKILL) and is started again'),
      );
      expect((await here('show', shortId)).stdout).toContain('ALTER TABLE orders DROP COLUMN legacy_note');
      await eventually(async () => expect((await here('allow', shortId)).code).toBe(0), READY_MS);
      expect(await agent.exited).toBe(0);
      expect(agent.output.stdout).toContain(
        `orders-db / apply_migration waits for people: holdpoint show ${shortId}\n`,
      );
      expect(JSON.parse(agent.output.stdout.slice(agent.output.stdout.indexOf('[')))).toEqual([
        { role: 'tool', toolCallId: 'c1', content: expect.stringContaining('"total_cents":4200'), isError: false },
        { role: 'tool', toolCallId: 'c2', content: '{"applied":true,"result":{"version":8}}', isError: false },
      ]);

      dev.signal('SIGINT');
      expect(await dev.exited).toBe(0);
      expect(dev.output.stderr).toMatch(/… stopping\n$/);
      expect(processesWith(folder)).toEqual([]);
      expect(existsSync(join(stateDir, 'dev.json'))).toBe(false);
      expect((await here('audit', 'verify')).stdout).toContain('The audit holds');
      expect(await here('allow', shortId)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('"holdpoint dev" is not running in'),
      });
    },
    2 * READY_MS,
  );

  test(
    'gives a client of MCP an address and a token: the agent calls, the reviewer allows, the same call runs',
    async () => {
      const collector = await startReceiver();
      const tracing = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
      const dev = start(['dev'], { cwd: folder, env: { ...env, ...tracing } });
      running.push(dev);
      const { gateway } = await ready(dev);
      expect(statSync(gateway?.tokenFile ?? '').mode & 0o777).toBe(0o600);
      expect(dev.output.stdout).not.toContain(readFileSync(gateway?.tokenFile ?? '', 'utf8').trim());
      const client = await connectAsTold(dev);
      const migration = () =>
        callTool(client, 'apply_migration', MIGRATION.arguments, { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` });
      expect(approvalOf(await migration()).status).toBe('pending');
      const { shortId } = await onlyRequest();
      expect((await here('allow', shortId)).stdout).toContain('recorded as dana, signed');
      expect(approvalOf(await migration()).status).toBe('approved');
      const ofTrace = () => collector.received.filter(({ body }) => body.includes(TRACE_ID));
      await eventually(() => {
        const parts = ofTrace().flatMap(({ body }) => body.match(/holdpoint-(worker|gateway)/g) ?? []);
        expect([...new Set(parts)].sort()).toEqual(['holdpoint-gateway', 'holdpoint-worker']);
      });

      const link = await here('console', 'link', '--to', `/requests/${shortId}`);
      expect(link).toMatchObject({ code: 0, stderr: expect.stringContaining('It signs dana in, once') as string });
      expect(await signedInPage(link.stdout.trim())).toContain('Decisions on record');

      const [line] = processesWith('cli/main.js gateway').filter((found) => ownedBy(found, dev.pid));
      process.kill(Number.parseInt(line ?? '', 10), 'SIGKILL');
      await eventually(() =>
        expect(dev.output.stderr).toContain('The gateway has ended (SIGKILL) and is started again; see gateway.log.'),
      );
      await eventually(async () => expect((await here('doctor')).code).toBe(0), READY_MS);
      const again = await connectAsTold(dev);
      expect((await again.listTools()).tools.map(({ name }) => name)).toContain('apply_migration');
      await Promise.all([client.close(), again.close(), collector.close()]);
      dev.signal('SIGINT');
      expect(await dev.exited).toBe(0);
      expect(processesWith(folder)).toEqual([]);
    },
    3 * READY_MS,
  );

  test(
    'takes other ports where its own are in use, and after a SIGKILL goes on where it was',
    async () => {
      const [first, second] = [await occupiedPort(), await occupiedPort()];
      mkdirSync(stateDir);
      writeFileSync(
        join(stateDir, 'ports.json'),
        JSON.stringify({
          ...{ temporal: first.port, ui: second.port, health: first.port, example: second.port },
          gateway: first.port,
          console: second.port,
        }),
      );
      const dev = startDev();
      const { temporal, healthUrl, example, gateway, console } = await ready(dev);
      const urls = [`http://${temporal.address}`, temporal.uiUrl, healthUrl].concat(
        [example, gateway, console].map((part) => part?.url ?? ''),
      );
      for (const url of urls) {
        expect([String(first.port), String(second.port)]).not.toContain(new URL(url).port);
      }
      first.server.close();
      second.server.close();
      expect((await here('turn', 'start', EXAMPLE_TURN)).code).toBe(0);
      const { shortId, turnId } = await onlyRequest();
      dev.signal('SIGKILL');
      await dev.exited;
      await eventually(() => expect(processesWith(folder)).toEqual([]), 15_000);
      expect(await here('turn', 'show', turnId)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('is not running'),
      });

      const again = startDev();
      expect(await ready(again)).toMatchObject({ temporal: { address: temporal.address }, gateway });
      await eventually(async () => expect((await here('deny', shortId)).code).toBe(0), READY_MS);
      expect((await here('turn', 'results', turnId, '--wait')).code).toBe(5);
      again.signal('SIGTERM');
      expect(await again.exited).toBe(0);
    },
    3 * READY_MS,
  );

  test(
    'serves an edited copy of the example policy as well, and says what it makes of the reviewer',
    async () => {
      const dev = startDev();
      const { example } = await ready(dev);
      const edited = readFileSync(EXAMPLE_POLICY, 'utf8')
        .replace('http://127.0.0.1:4100/mcp', example?.url ?? '')
        .replace("subjects: ['user:amira']", "subjects: ['user:olga']");
      writeFileSync(join(folder, 'mine.yaml'), edited);
      const applied = await here('policy', 'apply', 'mine.yaml');
      expect(applied.stderr).toContain('warning: dana lost the key that the policy before listed');
      dev.signal('SIGTERM');
      expect(await dev.exited).toBe(0);

      const again = startDev();
      expect((await ready(again)).example?.url).toBe(example?.url);
      const { stdout } = again.output;
      expect(stdout).toContain('user:olga through support-bot: name one as the requester in the turn file\n');
      expect(stdout).toContain(
        'dana, another person: decides; the policy lists no key, so the decisions are UNVERIFIED\n',
      );
      expect(stdout).not.toContain('starts turns');
      expect(stdout).toMatch(
        /console +the policy lists no key of it, so its decisions do not count where people have keys: add\n +console: \{ key: 'ed25519:[\w-]{43}' \}\n/,
      );
      const turn = { id: 't', requester: { subject: 'user:olga', agent: 'support-bot' }, calls: [MIGRATION] };
      writeFileSync(join(folder, 'turn.json'), JSON.stringify(turn));
      expect((await here('turn', 'start', 'turn.json')).code).toBe(0);
      const { shortId } = await onlyRequest();
      expect((await here('allow', shortId)).stdout).toContain(
        'recorded as dana, UNVERIFIED: the active policy lists no key of dana',
      );
      expect((await here('turn', 'results', 't', '--wait')).code).toBe(0);
      again.signal('SIGTERM');
      expect(await again.exited).toBe(0);
    },
    3 * READY_MS,
  );

  test(
    'without the example waits for a policy of the user, and takes it without a restart',
    async () => {
      const dev = startDev('--no-example');
      await ready(dev);
      await eventually(() =>
        expect(dev.output.stderr).toContain('No policy is active, so no worker, gateway or console runs.'),
      );
      // Nothing answers at port 1.
      expect((await here('init', '--url', 'http://127.0.0.1:1/mcp')).code).toBe(0);
      expect(readFileSync(join(folder, 'policy.yaml'), 'utf8')).toContain('destructive-tools');
      const applied = await here('policy', 'apply', 'policy.yaml');
      expect(applied).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('warning: server tools cannot be reached'),
      });
      await eventually(() => expect(dev.output.stdout).toContain('Worker, gateway and console are up.'), READY_MS);
      expect((await here('doctor')).code).toBe(0);
      dev.signal('SIGTERM');
      expect(await dev.exited).toBe(0);
    },
    2 * READY_MS,
  );

  test(
    'moves worker, gateway and console where their ports were taken after they were chosen, says so, and goes on',
    async () => {
      const dev = startDev('--no-example');
      const { healthUrl, gateway, console } = await ready(dev);
      const { server, port } = await occupiedPort(Number(new URL(healthUrl).port));
      const other = await occupiedPort(Number(new URL(gateway?.url ?? '').port));
      const third = await occupiedPort(Number(new URL(console?.url ?? '').port));
      expect((await here('init')).code).toBe(0);
      expect((await here('policy', 'apply', 'policy.yaml')).code).toBe(0);
      await eventually(() => expect(dev.output.stdout).toContain('Worker, gateway and console are up.'), READY_MS);
      const file = await readDevFile(stateDir);
      const moved = file?.healthUrl ?? '';
      expect(new URL(moved).port).not.toBe(String(port));
      expect(dev.output.stderr).toContain(`… something else uses port ${port}, so the worker takes `);
      const movedGateway = file?.gateway?.url ?? '';
      expect(dev.output.stderr).toContain(`… something else uses port ${other.port}, so the gateway takes `);
      expect(dev.output.stdout).toContain(`${movedGateway}/mcp/`);
      const movedConsole = file?.console?.url ?? '';
      expect(dev.output.stderr).toContain(`… something else uses port ${third.port}, so the console takes `);
      for (const url of [moved, movedGateway, movedConsole])
        expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ healthy: true });
      for (const each of [server, other.server, third.server]) each.close();
      dev.signal('SIGTERM');
      expect(await dev.exited).toBe(0);
    },
    2 * READY_MS,
  );

  test('says where it may not write', async () => {
    writeFileSync(join(folder, '.holdpoint'), 'a file');
    const dev = startDev();
    expect(await dev.exited).toBe(3);
    expect(dev.output.stderr).toContain(`The state folder ${stateDir} cannot be written to`);
  });

  test('says what it tried where there is no Temporal', async () => {
    const dev = start(['dev'], { cwd: folder, env: { ...bareEnvironment(), TEMPORAL_CLI_PATH: '/nowhere/temporal' } });
    running.push(dev);
    expect(await dev.exited).toBe(3);
    expect(dev.output.stderr).toContain('TEMPORAL_CLI_PATH: /nowhere/temporal does not run as the Temporal CLI');
    expect(dev.output.stderr).toContain('[TEMPORAL_BINARY_MISSING]');
  });
});

/** What a browser sees that presses the button behind a sign-in link, without a script. */
async function signedInPage(link: string): Promise<string> {
  const { origin, searchParams } = new URL(link);
  const signIn = await fetch(`${origin}/sign-in/link`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body: new URLSearchParams([...searchParams]),
  });
  const [cookie = ''] = (signIn.headers.get('set-cookie') ?? '').split(';');
  return (await fetch(new URL(signIn.headers.get('location') ?? '', origin), { headers: { cookie } })).text();
}

/** Whether the process of a line of `ps` was started by `pid`. */
function ownedBy(line: string, pid: number): boolean {
  const status = readFileSync(`/proc/${Number.parseInt(line, 10)}/status`, 'utf8');
  return status.includes(`PPid:\t${pid}\n`);
}
