'use strict';

// `node -r ./test/support/ts-hook.cjs file.ts` runs the TypeScript sources as they are, for processes that tests start.
const { createHash, randomUUID } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('@swc/core/package.json');

const OPTIONS = {
  sourceMaps: 'inline',
  module: { type: 'commonjs', ignoreDynamic: true },
  jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
};

// A process loads a hundred sources, and tests start a hundred processes: what was made of a source is kept.
const CACHE = join(__dirname, '../../node_modules/.cache/holdpoint/swc');
mkdirSync(CACHE, { recursive: true });

require.extensions['.ts'] = (module, filename) => {
  const source = readFileSync(filename, 'utf8');
  const key = createHash('sha256')
    .update(JSON.stringify([version, OPTIONS, filename, source]))
    .digest('hex');
  module._compile(kept(key) ?? keep(key, transform(source, filename)), filename);
};

function transform(source, filename) {
  return require('@swc/core').transformSync(source, { filename, ...OPTIONS }).code;
}

function kept(key) {
  try {
    return readFileSync(join(CACHE, key), 'utf8');
  } catch {
    return undefined;
  }
}

/** Whole or not at all: several processes may write it at once. */
function keep(key, code) {
  const path = join(CACHE, key);
  const written = `${path}.${randomUUID()}`;
  writeFileSync(written, code);
  renameSync(written, path);
  return code;
}
