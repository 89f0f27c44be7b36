import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import pino from 'pino';
import { writeDevFile } from '../../cli/dev/dev-file';
import { openStore } from '../../ledger/open-store';
import { claimDeliveries, recordFailed } from '../../ledger/outbox';
import { read, remove, someone } from '../support/calls';
import { run, start, startCliStage, temporaryFolder, type CliStage } from '../support/cli';
import { startReceiver } from '../support/webhook-receiver';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function makeLedger(path: string): Promise<string> {
  const url = pathToFileURL(path).href;
  await (await openStore(url, pino({ level: 'silent' }))).close();
  return url;
}

describe('a command that is written wrongly', () => {
  test.each([
    { args: ['alow', 'X'], says: "unknown command 'alow'\n(Did you mean allow?)" },
    { args: ['requests', '--jsn'], says: "unknown option '--jsn'\n(Did you mean --json?)" },
    { args: ['show'], says: "missing required argument 'id'" },
    { args: ['settle', 'op_1', 'executed'], says: "required option '--reason <text>' not specified" },
    { args: ['requests', '--status', 'open'], says: 'It is one of pending, allowed, denied' },
    { args: ['requests', 'extra'], says: 'too many arguments' },
  ])('$args ends with 1 and says what is allowed', async ({ args, says }) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr).toContain('(add --help for what is allowed)');
  });

  test('is repeated without what it hides', async () => {
    const { stderr } = await run(['\u001b[2J\u202e']);
    expect(stderr).not.toMatch(/[\u001b\u202e]/);
    expect(stderr).toContain('⟦U+001B⟧[2J⟦U+202E⟧');
  });
});

describe('without a Holdpoint', () => {
  test.each([
    ['requests'],
    ['show', 'ABCDEF'],
    ['allow', 'ABCDEF'],
    ['unknown'],
    ['grant', 'list'],
    ['audit', 'verify'],
    ['policy', 'show'],
  ])('%s says that there is none here, and what to do', async (...args) => {
    const { code, stdout, stderr } = await run(args, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toBe(
      `holdpoint: There is no Holdpoint in ${join(folder, '.holdpoint')}. Nothing was read or recorded.\nStart one with "holdpoint dev", go to its folder, or set HOLDPOINT_LEDGER_URL and TEMPORAL_ADDRESS.\n`,
    );
    expect(existsSync(join(folder, '.holdpoint'))).toBe(false);
  });

  test('an environment that names Temporal alone is no half of one', async () => {
    const { code, stderr } = await run(['requests'], { cwd: folder, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(code).toBe(3);
    expect(stderr).toContain('No ledger is named.');
    expect(stderr).toContain('Set HOLDPOINT_LEDGER_URL');
  });
});

describe('a ledger that cannot be used', () => {
  test('because it is not there is not made', async () => {
    const path = join(folder, 'typo.db');
    const { code, stderr } = await run(['requests'], { env: { HOLDPOINT_LEDGER_URL: `file:${path}` } });
    expect(code).toBe(3);
    expect(stderr).toContain(`There is no ledger at ${path}. Nothing was read or recorded.`);
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    { url: 'ledger.db', says: '[LEDGER_URL]' },
    { url: 'mysql://root:hunter2@host/db', says: '[LEDGER_URL]' },
    { url: 'postgres://u:hunter2@127.0.0.1:1/db', says: 'The ledger postgres://127.0.0.1:1/db cannot be reached' },
  ])('$url says which and why, without its password', async ({ url, says }) => {
    const { code, stderr } = await run(['requests'], { env: { HOLDPOINT_LEDGER_URL: url } });
    expect(code).toBe(3);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain('hunter2');
  });

  test('because it is something else is left as it is', async () => {
    const path = join(folder, 'notes.db');
    writeFileSync(path, 'these are my notes, and they are longer than a header of a database would be'.repeat(20));
    const { code, stderr } = await run(['requests'], { env: { HOLDPOINT_LEDGER_URL: `file:${path}` } });
    expect(code).toBe(3);
    expect(stderr).toMatch(/notes\.db is damaged or not a ledger: .* \[LEDGER_DAMAGED\]/);
  });

  test('because it is of an older release is left as it is, until a policy is applied', async () => {
    const ledgerUrl = await makeLedger(join(folder, 'ledger.db'));
    const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
    await store.write(async ({ db }) => {
      await sql`delete from ledger_migrations where name > '0002'`.execute(db);
      for (const table of ['gateway_calls', 'retrospectives', 'reversals', 'second_reviews'])
        await sql`drop table ${sql.table(table)}`.execute(db);
      for (const index of [
        'deliveries_position',
        'requests_open',
        'requests_binding',
        'requests_denied',
        'grants_live',
        'requests_decided',
      ])
        await sql`drop index ${sql.id(index)}`.execute(db);
      for (const column of ['channel', 'delivered', 'failed', 'given_up'])
        await sql`alter table endpoints drop column ${sql.id(column)}`.execute(db);
    });
    await store.close();
    writeFileSync(join(folder, 'policy.yaml'), EMPTY_POLICY);
    const env = { HOLDPOINT_LEDGER_URL: ledgerUrl };
    for (const args of [['requests'], ['audit', 'verify'], ['grant', 'list']]) {
      const { code, stderr } = await run(args, { env });
      expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('[LEDGER_OLDER]') as string });
    }
    expect((await run(['policy', 'apply', 'policy.yaml', '--as', 'opal'], { cwd: folder, env })).code).toBe(0);
    expect((await run(['requests'], { env })).code).toBe(0);
  });

  test('because it is read-only and a crash left a part of it beside, names what is needed', async () => {
    const ledgerUrl = await makeLedger(join(folder, 'ledger.db'));
    const crashed = await openStore(ledgerUrl, pino({ level: 'silent' }));
    await crashed.write(async (tx) => tx.fact({ kind: 'a', operationId: null, body: {} }));
    const copy = join(folder, 'copy');
    mkdirSync(copy);
    for (const name of ['ledger.db', 'ledger.db-wal'])
      writeFileSync(join(copy, name), readFileSync(join(folder, name)), { mode: 0o444 });
    await crashed.close();
    chmodSync(copy, 0o555);
    chmodSync(folder, 0o755);
    const env = { HOLDPOINT_LEDGER_URL: pathToFileURL(join(copy, 'ledger.db')).href };
    const { code, stderr } = await asNobody(() => run(['requests'], { env }));
    chmodSync(copy, 0o755);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('[LEDGER_READ_ONLY]') as string });
  });

  test('because it is read-only names what is needed, and can still be read while another process has it open', async () => {
    const ledgerUrl = await makeLedger(join(folder, 'ledger.db'));
    const env = { HOLDPOINT_LEDGER_URL: ledgerUrl };
    const open = await openStore(ledgerUrl, pino({ level: 'silent' }));
    // Some builds of SQLite leave -wal and -shm behind at the last close, others do not: now both are there.
    await open.write(async (tx) => tx.fact({ kind: 'a', operationId: null, body: {} }));
    writeFileSync(join(folder, 'policy.yaml'), EMPTY_POLICY);
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
    chmodSync(folder, 0o555);
    const [written, listed] = await asNobody(async () => [
      await run(['policy', 'apply', 'policy.yaml', '--as', 'opal'], { cwd: folder, env }),
      await run(['requests', '--json'], { env }),
    ]);
    chmodSync(folder, 0o755);
    await open.close();
    expect(written).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        /The ledger .*ledger\.db cannot be written to: .* Nothing of this step was recorded.*\[LEDGER_READ_ONLY\]/,
      ),
    });
    expect(listed).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });
});

const EMPTY_POLICY = 'servers: {}\naccess: []\nrules: []\n';

/** Root may write everything. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

describe('a Temporal that cannot be reached', () => {
  test('is named with its address, and nothing is said to be recorded', async () => {
    const address = `127.0.0.1:${await closedPort()}`;
    const env = { TEMPORAL_ADDRESS: address, HOLDPOINT_LEDGER_URL: await makeLedger(join(folder, 'ledger.db')) };
    const { code, stderr } = await run(['turn', 'show', 'x', '--subject', 'u1'], { env });
    expect(code).toBe(3);
    expect(stderr).toContain(`The Temporal server cannot be reached: no answer at ${address}. Nothing was recorded`);
    expect(stderr).toContain('[TEMPORAL_UNREACHABLE]');
  });

  test('of a dev stack is told apart from a dev that does not run', async () => {
    await makeLedger(join(folder, 'ledger.db'));
    const dev = {
      v: 1,
      pid: process.pid,
      startedAtMs: 0,
      temporal: { address: `127.0.0.1:${await closedPort()}`, namespace: 'default', uiUrl: '' },
      taskQueue: 'holdpoint',
      ledgerUrl: '',
      healthUrl: '',
      permitKeyFile: '',
      agent: { subject: 'u', agent: 'a' },
      reviewer: { name: 'r', keyFile: '' },
      example: null,
    } as const;
    await writeDevFile(folder, dev);
    const alive = await run(['turn', 'show', 'x', '--state', folder]);
    expect(alive).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`(process ${process.pid}) does not answer at 127.0.0.1:`),
    });
    await writeDevFile(folder, { ...dev, pid: 2 ** 22 + 1 });
    const gone = await run(['turn', 'show', 'x', '--state', folder]);
    expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining('"holdpoint dev" is not running in') });
    expect((await run(['requests', '--state', folder])).code).toBe(0);
  });
});

test('a namespace that is not there is named', async () => {
  const env = {
    TEMPORAL_ADDRESS: process.env['HOLDPOINT_TEST_TEMPORAL'],
    TEMPORAL_NAMESPACE: 'nope',
    HOLDPOINT_LEDGER_URL: await makeLedger(join(folder, 'ledger.db')),
  };
  const { code, stderr } = await run(['turn', 'show', 'x', '--subject', 'u1'], { env });
  expect(code).toBe(3);
  expect(stderr).toContain('The Temporal server has no namespace nope. Nothing was recorded.');
});

describe('with no worker', () => {
  let stage: CliStage;

  beforeAll(async () => {
    stage = await startCliStage({ worker: false });
  });

  afterAll(() => stage.close());

  test('a turn is started and kept, and the command says that it has to wait', async () => {
    const stdin = JSON.stringify({ id: 'waiting', requester: someone(), calls: [read(), remove('c2')] });
    const { code, stdout, stderr } = await stage.run(['turn', 'start', '-'], { stdin });
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('… starting the turn\n');
    expect(stderr).toContain('The turn is started and kept; no worker answers, so nobody is asked yet.');
  }, 30_000);

  test('doctor says so, and what else it found', async () => {
    const { code, stdout } = await stage.run(['doctor']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^ok {4}node +\d+\.\d+\.\d+ on /);
    expect(stdout).toMatch(/^ok {4}ledger +sqlite, epoch [0-9a-f-]{36}, \d+ audit records?$/m);
    expect(stdout).toMatch(/^ok {4}policy +version 1, 1 rule$/m);
    expect(stdout).toMatch(/^warn {2}trust +trust: namespace/m);
    expect(stdout).toMatch(/^ok {4}search attributes +all five are registered$/m);
    expect(stdout).toMatch(/^FAIL {2}worker +no worker polls task queue test-/m);
    const accepted = await stage.run(['ledger', 'accept']);
    expect(accepted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^The ledger of epoch [0-9a-f-]{36} is accepted as it is/),
    });
    await stage.harness.startWorker();
    const all = await stage.run(['doctor', '--json']);
    expect(all.code).toBe(0);
    expect(JSON.parse(all.stdout)).toContainEqual({
      name: 'ledger mark',
      status: 'ok',
      detail: 'the ledger is the one that Temporal last saw',
    });
  });
});

test('doctor counts the events that a webhook was not given, with the reason and what to do', async () => {
  const ledgerUrl = await makeLedger(join(folder, 'ledger.db'));
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
  const reader = { endpoint: 'ops', wants: () => true };
  const claim = () => claimDeliveries(store, { reader, limit: 1, leaseMs: 60_000 });
  await claim();
  await store.write(async (tx) => tx.emit({ id: 'a', type: 'dev.holdpoint.a', subject: null, data: {} }));
  const [delivery] = await claim();
  await recordFailed(store, { delivery: delivery!, error: 'HTTP 410', retryInMs: null });
  await store.close();
  const env = { HOLDPOINT_LEDGER_URL: ledgerUrl, TEMPORAL_ADDRESS: process.env['HOLDPOINT_TEST_TEMPORAL'] };
  const { stdout } = await run(['doctor'], { env });
  expect(stdout).toMatch(
    /^warn {2}events +webhook ops was not given 1 event \(HTTP 410\)\. They are not sent again: mend the receiver/m,
  );
});

describe('doctor on traces', () => {
  const line = async (env: NodeJS.ProcessEnv): Promise<string | undefined> => {
    const { stdout } = await run(['doctor'], { cwd: folder, env });
    return stdout.split('\n').find((text) => text.includes(' traces '));
  };

  test('says that they are off, or where they go, without a secret of the address', async () => {
    expect(await line({})).toMatch(/^ok {4}traces +off; OTEL_EXPORTER_OTLP_ENDPOINT, where it is set, turns them on$/);
    const collector = await startReceiver();
    const { host } = new URL(collector.url);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://me:s3cret@${host}/key` };
    expect(await line(env)).toMatch(new RegExp(`^ok {4}traces +spans go to http://${host}$`));
    await collector.close();
    expect(await line(env)).toMatch(
      new RegExp(`^warn {2}traces +nothing answers at http://${host}, so spans are lost`),
    );
    const unusable = await line({ OTEL_EXPORTER_OTLP_ENDPOINT: 's3cret:4317' });
    expect(unusable).toMatch(/^warn {2}traces +.*no http or https URL/);
    expect(unusable).not.toContain('s3cret');
  });
});

describe('doctor without anything', () => {
  test('fails for the ledger and for Temporal, each with what to do', async () => {
    const { code, stdout } = await run(['doctor', '--json'], { cwd: folder });
    const checks = JSON.parse(stdout) as readonly { name: string; status: string; detail: string }[];
    expect(code).toBe(3);
    expect(checks.filter((check) => check.status === 'fail').map((check) => check.name)).toEqual([
      'ledger',
      'temporal',
    ]);
  });
});

describe('holdpoint worker', () => {
  async function worker(env: NodeJS.ProcessEnv): Promise<{ code: number | null; stderr: string }> {
    const child = start(['worker'], { env });
    return { code: await child.exited, stderr: child.output.stderr };
  }

  test('says everything that is wrong with its environment at once', async () => {
    const { code, stderr } = await worker({
      HOLDPOINT_PAYLOAD_KEY: 'c2hvcnQ=',
      HOLDPOINT_HEALTH_PORT: 'x',
      HOLDPOINT_WEBHOOKS: '[{}]',
      HOLDPOINT_TRUST: 'all',
    });
    expect(code).toBe(1);
    for (const text of [
      'HOLDPOINT_LEDGER_URL is not set',
      'HOLDPOINT_PERMIT_KEY_FILE is not set',
      'HOLDPOINT_PAYLOAD_KEY holds 5 bytes of base64; it holds 32',
      'HOLDPOINT_HEALTH_PORT is a port number',
      'HOLDPOINT_WEBHOOKS: ',
      'HOLDPOINT_TRUST is signatures or namespace, not "all"',
    ])
      expect(stderr).toContain(text);
    expect(stderr).not.toContain('c2hvcnQ');
  });

  test('starts only with a key, a ledger, a policy, a free port and Temporal, and names what is missing', async () => {
    const key = join(folder, 'permit.pem');
    await run(['key', 'new', key]);
    const ledger = await makeLedger(join(folder, 'ledger.db'));
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const good = {
      HOLDPOINT_LEDGER_URL: ledger,
      HOLDPOINT_PERMIT_KEY_FILE: key,
      HOLDPOINT_HEALTH_PORT: '0',
      TEMPORAL_ADDRESS: `127.0.0.1:${await closedPort()}`,
    };
    expect(await worker({ ...good, HOLDPOINT_PERMIT_KEY_FILE: join(folder, 'none.pem') })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[PERMIT_KEY]'),
    });
    expect(await worker({ ...good, HOLDPOINT_LEDGER_URL: 'file:/nowhere/ledger.db' })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('there is no folder /nowhere'),
    });
    expect(await worker(good)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holdpoint policy apply FILE. [NO_POLICY]'),
    });
    writeFileSync(join(folder, 'policy.yaml'), EMPTY_POLICY);
    await run(['policy', 'apply', 'policy.yaml'], { cwd: folder, env: good });
    expect(await worker({ ...good, HOLDPOINT_HEALTH_PORT: String(port) })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`The port ${port} cannot be listened on`),
    });
    expect(await worker(good)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        `The Temporal server cannot be reached: ${good.TEMPORAL_ADDRESS}, namespace default`,
      ),
    });
    taken.close();
  }, 30_000);
});
