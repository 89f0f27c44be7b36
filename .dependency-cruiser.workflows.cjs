'use strict';

const { builtinModules } = require('node:module');

const builtins = builtinModules.filter((name) => !name.startsWith('_'));

/** Type imports are gone here (`tsPreCompilationDeps: false`), so what is reachable is what the bundle would carry. */
/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'workflow-bundle',
      comment:
        'The sandbox has no builtins, and zod or the MCP SDK would cost 7 to 20 times the memory for each cached workflow.',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        path: ['(^|/)node_modules/', `^(node:)?(${builtins.join('|')})$`],
        pathNot: '(^|/)node_modules/(@temporalio/(workflow|common)|@noble/hashes)/',
        reachable: true,
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'import', 'default'],
    },
  },
};
