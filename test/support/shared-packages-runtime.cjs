'use strict';

// Loading packages anew for each test file takes longer than most files run: here each is loaded once per Jest worker.
const { createRequire, isBuiltin } = require('node:module');
const { default: Runtime } = require('jest-runtime');

/** Jest's own belong to one test file; `canonicalize` cannot be required (see `moduleNameMapper`). */
const OWN = /^(?:@jest\/|jest-|canonicalize$)/;

module.exports = class SharedPackagesRuntime extends Runtime {
  requireModuleOrMock(from, moduleName) {
    const isPackage = !/^[./]/.test(moduleName) && !isBuiltin(moduleName) && !OWN.test(moduleName);
    return isPackage ? createRequire(from)(moduleName) : super.requireModuleOrMock(from, moduleName);
  }
};
