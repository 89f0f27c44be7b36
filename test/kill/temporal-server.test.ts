import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startTemporalServer, type TemporalServer, type TemporalServerOptions } from '../../worker/temporal-server';

let folder: string;
let running: TemporalServer[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-test-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.kill9()));
  rmSync(folder, { recursive: true, force: true });
});

function launch(options: Partial<TemporalServerOptions>): ReturnType<typeof startTemporalServer> {
  const binary = process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] ?? '';
  return startTemporalServer({ binary, namespace: 'holdpoint', log: () => undefined, ...options });
}

async function start(options: Partial<TemporalServerOptions> = {}): Promise<TemporalServer> {
  const result = await launch(options);
  if (!result.ok) throw new Error(result.detail);
  running.push(result.server);
  return result.server;
}

async function connected<T>({ address }: TemporalServer, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  return work(connection).finally(() => connection.close());
}

describe('the development server', () => {
  test('knows the five search attributes in its namespace when it is ready', async () => {
    const server = await start();
    const known = await connected(server, (connection) =>
      connection.operatorService.listSearchAttributes({ namespace: 'holdpoint' }),
    );
    // 2 is Keyword and 7 is KeywordList in the API's IndexedValueType.
    expect(known.customAttributes).toMatchObject({
      HoldpointState: 2,
      HoldpointServer: 7,
      HoldpointTool: 7,
      HoldpointRequester: 2,
      HoldpointApprovers: 7,
    });
  });

  test('is started again where it ends while it starts, as one does whose inner port was taken', async () => {
    const binary = join(folder, 'temporal');
    const real = process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] ?? '';
    writeFileSync(
      binary,
      `#!/bin/sh\n[ -e '${folder}/began' ] && exec '${real}' "$@"\ntouch '${folder}/began'\necho 'panic: listen' >&2\nexit 2\n`,
    );
    chmodSync(binary, 0o755);
    const { address } = await start({ binary });
    expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  test('keeps what was started before a SIGKILL, in its file, and comes back at the same address', async () => {
    const dbFilename = join(folder, 'temporal.db');
    const first = await start({ dbFilename });
    await connected(first, (connection) =>
      new Client({ connection, namespace: 'holdpoint' }).workflow.start('waiting', {
        workflowId: 'kept',
        taskQueue: 'nobody',
      }),
    );
    await first.kill9();
    const second = await start({ dbFilename, port: Number(first.address.split(':')[1]) });
    expect(second.address).toBe(first.address);
    const found = await connected(second, (connection) =>
      new Client({ connection, namespace: 'holdpoint' }).workflow.getHandle('kept').describe(),
    );
    expect(found.status.name).toBe('RUNNING');
  });

  test('takes other ports when the wanted ones are in use, and shows its UI where it says', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const server = await start({ port, uiPort: port });
    taken.close();
    expect(server.address).not.toBe(`127.0.0.1:${port}`);
    const page = await fetch(server.uiUrl ?? '');
    expect(page.status).toBe(200);
  });

  test('tells when it has ended by itself', async () => {
    const server = await start();
    process.kill(server.pid, 'SIGKILL');
    await expect(server.exited).resolves.toBeUndefined();
  });

  test('that cannot write its file is a typed failure in its own words', async () => {
    const result = await launch({ dbFilename: join(folder, 'missing', 'temporal.db') });
    expect(result).toMatchObject({ ok: false, code: 'TEMPORAL_SERVER_FAILED' });
    expect(result.ok ? '' : result.detail).toMatch(
      /did not start: it gave no answer at 127\.0\.0\.1:\d+\.\n.*missing: no such file or directory$/,
    );
  });

  test('that is no Temporal server is a typed failure', async () => {
    const binary = join(folder, 'temporal');
    writeFileSync(binary, '#!/bin/sh\necho "unknown command server" >&2\nexit 1\n');
    chmodSync(binary, 0o755);
    const result = await launch({ binary });
    expect(result).toMatchObject({ ok: false, code: 'TEMPORAL_SERVER_FAILED' });
    expect(result.ok ? '' : result.detail).toMatch(/unknown command server$/);
  });
});
