'use strict';

// Runs every test file of a Jest worker in that worker's own context instead of a new one, so that `shared-packages-runtime`
// can load packages once per worker: objects of both sides then have the same classes. Test files still load the sources anew.
const vm = require('node:vm');
const { ModuleMocker } = require('jest-mock');

// For what a package loads of the sources by itself, by path.
require('./ts-hook.cjs');

const ownContext = vm.createContext();
const compileFunction = vm.compileFunction;

vm.compileFunction = (code, params, options = {}) => {
  const { parsingContext, ...rest } = options;
  return compileFunction(code, params, parsingContext === ownContext ? rest : options);
};

module.exports = class OneContextEnvironment {
  global = globalThis;
  fakeTimers = null;
  fakeTimersModern = null;
  moduleMocker = new ModuleMocker(globalThis);
  #env = { ...process.env };
  #globals = new Set(Reflect.ownKeys(globalThis));

  async setup() {
    Error.stackTraceLimit = 100;
  }

  async teardown() {
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#env);
    for (const key of Reflect.ownKeys(globalThis)) if (!this.#globals.has(key)) Reflect.deleteProperty(globalThis, key);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return ownContext;
  }
};
