import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_DIR } from '../version';

/**
 * Where a downloaded Temporal CLI is kept: in the package's own cache, so that every state folder, the demo and the tests
 * use one copy; in the state folder where the package cannot be written to.
 */
export async function binaryDir(stateDir: string | null): Promise<string> {
  const cache = join(PACKAGE_DIR, 'node_modules', '.cache', 'holdpoint');
  if (stateDir === null) return cache;
  try {
    await mkdir(cache, { recursive: true });
    await access(cache, constants.W_OK);
    return cache;
  } catch {
    return stateDir;
  }
}
