import { builtinModules } from 'node:module';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { workflowBundle } from '../support/workflow-bundle';

describe('the workflow bundle', () => {
  let code = '';
  let modules: readonly string[] = [];
  beforeAll(async () => {
    const path = await workflowBundle(join(__dirname, '../../node_modules/.cache/holdpoint'));
    code = await readFile(path!, 'utf8');
    modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)"$/gm)].map(([, name]) => name!);
  }, 60_000);

  test('is under 2 MB [ENG-10]', () => {
    expect(Buffer.byteLength(code)).toBeLessThan(2_000_000);
  });

  test('holds the workflows and their core, and of packages only what a sandbox can run [ENG-10]', () => {
    expect(modules).toEqual(expect.arrayContaining(['./workflows/agent-turn.ts', './core/digest.ts']));
    const packages = new Set(modules.flatMap((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []));
    expect([...packages].sort()).toEqual([
      '@noble/hashes',
      '@temporalio/common',
      '@temporalio/workflow',
      'long',
      'ms',
      'nexus-rpc',
    ]);
  });

  test('holds neither zod, nor the MCP SDK, nor a Node builtin [ENG-10]', () => {
    expect(modules.filter((name) => /zod|modelcontextprotocol|-schema\.ts$/.test(name))).toEqual([]);
    const builtins = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);
    const required = [...code.matchAll(/__webpack_require__\(\/\*! ([^*]+) \*\//g)].map(([, name]) => name!.trim());
    expect(required.length).toBeGreaterThan(50);
    expect(required.filter((name) => builtins.has(name) && !SANDBOXED.includes(name))).toEqual([]);
  });
});

/** The SDK gives the sandbox its own versions of these. */
const SANDBOXED = ['assert', 'url', 'util'];
