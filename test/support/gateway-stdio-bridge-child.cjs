'use strict';

// The bridge as a command: the address and the token are its arguments.
require('./ts-hook.cjs');
const { runStdioBridge } = require('../../gateway/stdio/bridge');

const [url, token] = process.argv.slice(2);
const silent = () => undefined;
const log = { info: silent, warn: silent, error: silent };
void runStdioBridge({ url: new URL(url), token, input: process.stdin, output: process.stdout, log });
