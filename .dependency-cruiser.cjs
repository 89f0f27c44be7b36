'use strict';

/** npm packages, as they appear in resolved paths. */
const packages = (...names) => names.map((name) => `(^|/)node_modules/${name}/`);

/**
 * Who may import what (values); types may also come from where `types` says. A name is a folder, or a file in one.
 * Packages that belong to one place are in `owned`; all others are free.
 */
const table = {
  tracing: { values: [] },
  core: { values: [] },
  workflows: { values: ['core'], types: ['activities'] },
  activities: { values: ['core', 'ledger', 'tracing'], types: ['workflows/messages.ts'] },
  ledger: { values: ['core'] },
  web: { values: ['core'] },
  worker: {
    values: [
      'core',
      'activities',
      'ledger',
      'workflows/messages.ts',
      'client/payload-codec.ts',
      'client/grpc-interceptors.ts',
      'tracing',
    ],
  },
  client: { values: ['core', 'workflows', 'tracing'] },
  gateway: { values: ['core', 'client', 'worker', 'activities', 'ledger', 'web', 'tracing'] },
  console: { values: ['core', 'client', 'ledger', 'web'] },
};
const everywhere = [...Object.keys(table), 'cli', 'examples', 'bench', 'test'];

const owned = [
  { name: 'temporal-workflow', path: packages('@temporalio/workflow'), folders: ['workflows', 'client'] },
  { name: 'temporal-activity', path: packages('@temporalio/activity'), folders: ['activities', 'worker', 'gateway'] },
  { name: 'temporal-worker', path: packages('@temporalio/worker'), folders: ['worker', 'gateway'] },
  {
    name: 'temporal-client',
    path: packages('@temporalio/client'),
    folders: ['client', 'worker', 'gateway', 'console'],
  },
  { name: 'mcp', path: packages('@modelcontextprotocol'), folders: ['activities', 'gateway'] },
  { name: 'opentelemetry', path: packages('@opentelemetry'), folders: ['tracing'] },
  { name: 'database', path: packages('kysely', 'pg', '@photostructure/sqlite'), folders: ['ledger'] },
];

const folder = (names) => `^(${names.join('|')})/`;
const within = (names) => names.map((name) => (name.endsWith('.ts') ? `^${name}$` : `^${name}/`));

const importTable = Object.entries(table).flatMap(([name, { values, types = [] }]) => {
  const others = everywhere.filter((other) => other !== name);
  const from = { path: folder([name]) };
  const to = { path: folder(others), pathNot: within([...values, ...types]) };
  const comment = `${name}/ may import ${[...values, ...types.map((type) => `types of ${type}`)].join(', ') || 'nothing'}.`;
  const rules = [{ name: `${name}-imports`, comment, severity: 'error', from, to }];
  if (types.length > 0) {
    const values = { path: within(types), dependencyTypesNot: ['type-only'] };
    rules.push({ name: `${name}-imports-types-only`, comment, severity: 'error', from, to: values });
  }
  return rules;
});

const ownedPackages = owned.map(({ name, path, folders }) => ({
  name: `owned-${name}`,
  comment: `Only ${folders.join(', ')} (and cli, examples, bench, test) may use it.`,
  severity: 'error',
  from: { pathNot: folder([...folders, 'cli', 'examples', 'bench', 'test']) },
  to: { path, dependencyTypesNot: ['type-only'] },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...importTable,
    ...ownedPackages,
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'core-is-pure',
      comment: 'Core needs nothing of the host, so that it runs in the workflow sandbox and in a test alike.',
      severity: 'error',
      from: { path: '^core/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-packages',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: '(^|/)node_modules/', pathNot: packages('@noble/hashes', 'zod', 'yaml') },
    },
    {
      name: 'no-programs',
      comment: 'What composes everything is imported by nothing.',
      severity: 'error',
      from: { pathNot: '^(cli|examples|bench|test)/' },
      to: { path: '^(cli|examples|bench|test)/' },
    },
    {
      name: 'no-dev-dependency',
      severity: 'error',
      from: { pathNot: ['^(test|bench)/', '\\.[cm]js$'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unlisted',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      // Those have a package.json of their own, installed by whoever runs them.
      from: { pathNot: '^test/clients/[^/]+\\.mjs$' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|\\.holdpoint)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'import', 'default'],
    },
  },
};
