import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { ASSET_FILES } from './create-assets';

/** A step of the build: the files that pages load stand beside the compiled module that serves them. */
for (const name of Object.keys(ASSET_FILES))
  copyFileSync(join(__dirname, '../../../console/assets', name), join(__dirname, name));
