'use strict';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: '<rootDir>/test/support/one-context-environment.cjs',
  runtime: '<rootDir>/test/support/shared-packages-runtime.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  // This package exports an `import` condition only, which `require` does not see: Jest makes it CommonJS.
  moduleNameMapper: { '^canonicalize$': '<rootDir>/node_modules/canonicalize/lib/canonicalize.js' },
  transform: {
    '\\.[cm]?[jt]s$': [
      '@swc/jest',
      {
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!canonicalize/)'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.cjs'],
  maxWorkers: 2,
  // What files leave behind adds up in a worker, and collecting it slows every file that comes after.
  workerIdleMemoryLimit: '350MB',
  // A bound against hanging, not an expectation: a busy machine runs these several times slower.
  testTimeout: 90_000,
  collectCoverageFrom: [
    '{core,ledger,client,activities,worker,cli}/**/*.ts',
    '!**/main.ts',
    // Types only.
    '!core/{decision,evaluation,policy,turn-view}.ts',
  ],
  coverageProvider: 'v8',
  coverageThreshold: {
    // All but the `default` of a complete `switch`, which nothing reaches.
    './core/': { branches: 99 },
    './ledger/': { branches: 90 },
    './client/': { branches: 90 },
  },
};
