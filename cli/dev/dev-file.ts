import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseStrictJson } from '../../core/json';
import { errorCode } from '../error-code';

const devFile = z.strictObject({
  v: z.literal(1),
  pid: z.int().positive(),
  startedAtMs: z.int(),
  temporal: z.strictObject({ address: z.string(), namespace: z.string(), uiUrl: z.string() }),
  taskQueue: z.string(),
  ledgerUrl: z.string(),
  healthUrl: z.string(),
  permitKeyFile: z.string(),
  agent: z.strictObject({ subject: z.string(), agent: z.string() }),
  reviewer: z.strictObject({ name: z.string(), keyFile: z.string() }),
  example: z.strictObject({ url: z.string(), database: z.string() }).nullable(),
  /** Where clients of MCP go, by whose tokens, and the file with the agent's own. */
  gateway: z.strictObject({ url: z.string(), tokensFile: z.string(), tokenFile: z.string() }).exactOptional(),
  /** Where people go, the key that lets them in, and the one that the policy lists for it. */
  console: z
    .strictObject({ url: z.string(), keyFile: z.string(), signingKeyFile: z.string(), publicKey: z.string() })
    .exactOptional(),
});

/** What `holdpoint dev` runs and where; the other commands of the same folder read it. It exists while dev runs. */
export type DevFile = Readonly<z.infer<typeof devFile>>;

const DEV_FILE = 'dev.json';

/** The dev file of a state folder; null where there is none that this release can read. */
export async function readDevFile(stateDir: string): Promise<DevFile | null> {
  const text = await readFile(join(stateDir, DEV_FILE), 'utf8').catch(() => null);
  const json = text === null ? null : parseStrictJson(text);
  if (json?.ok !== true) return null;
  const parsed = devFile.safeParse(json.value);
  return parsed.success ? parsed.data : null;
}

/** Replaces the file in one step: a reader sees the old one or the new one. */
export async function writeDevFile(stateDir: string, dev: DevFile): Promise<void> {
  const target = join(stateDir, DEV_FILE);
  await writeFile(`${target}.new`, `${JSON.stringify(dev, null, 2)}\n`, { mode: 0o600 });
  await chmod(`${target}.new`, 0o600);
  await rename(`${target}.new`, target);
}

export async function removeDevFile(stateDir: string): Promise<void> {
  await rm(join(stateDir, DEV_FILE), { force: true });
}

/** Whether the process that wrote the file still runs; after a crash the file stays behind. */
export function isRunning({ pid }: Pick<DevFile, 'pid'>): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
