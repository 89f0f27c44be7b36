'use strict';

// `node -r ./test/support/ts-hook.cjs file.ts` runs the TypeScript sources as they are, for processes that tests start.
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    sourceMaps: 'inline',
    module: { type: 'commonjs', ignoreDynamic: true },
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  });
  module._compile(code, filename);
};
