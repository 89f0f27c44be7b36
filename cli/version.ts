import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** The folder of the package: the one above this file, or above `dist`, that holds `package.json`. */
export const PACKAGE_DIR = packageDir(__dirname);

export const VERSION = z
  .looseObject({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(PACKAGE_DIR, 'package.json'), 'utf8'))).version;

function packageDir(folder: string): string {
  try {
    readFileSync(join(folder, 'package.json'));
    return folder;
  } catch (error) {
    if (dirname(folder) === folder) throw error;
    return packageDir(dirname(folder));
  }
}
