import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildBundle } from '../../worker/build-bundle';

const ROOT = join(__dirname, '../..');
const KEPT_MS = 24 * 3_600_000;

/**
 * The path of a bundle of the workflow sources as they are now; built only if they changed since an earlier run.
 * `undefined` while there are no workflows.
 */
export async function workflowBundle(cacheDir: string): Promise<string | undefined> {
  const workflowsPath = join(ROOT, 'workflows/index.ts');
  if (!existsSync(workflowsPath)) return undefined;
  const path = join(cacheDir, `workflows-${await sourceDigest()}.js`);
  if (existsSync(path)) return path;
  const code = await buildBundle();
  await mkdir(cacheDir, { recursive: true });
  await writeFile(`${path}.${process.pid}`, code);
  await rename(`${path}.${process.pid}`, path);
  await removeOld(cacheDir);
  return path;
}

async function sourceDigest(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['core', 'workflows', 'worker', 'activities']) {
    const names = await readdir(join(ROOT, folder), { recursive: true }).catch(() => []);
    for (const name of names.filter((each) => each.endsWith('.ts')).sort()) {
      hash.update(`${folder}/${name}\0`).update(await readFile(join(ROOT, folder, name)));
    }
  }
  hash.update(await readFile(join(ROOT, 'package-lock.json')));
  return hash.digest('hex').slice(0, 16);
}

/** Another run in this checkout may still use the last few. */
async function removeOld(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    const file = join(cacheDir, name);
    const { mtimeMs } = await stat(file);
    if (name.startsWith('workflows-') && Date.now() - mtimeMs > KEPT_MS) await rm(file, { force: true });
  }
}
