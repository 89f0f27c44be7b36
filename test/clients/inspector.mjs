import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { told } from './told.mjs';

const folder = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json'));

await told('MCP Inspector CLI', async ({ url, token, tool, given }) => {
  const args = Object.entries(given).flatMap(([name, value]) => ['--tool-arg', `${name}=${value}`]);
  const command = ['--cli', url, '--transport', 'http', '--method', 'tools/call', '--tool-name', tool, ...args];
  const launcher = join(folder, 'clients/launcher/build/index.js');
  const header = ['--header', `Authorization: Bearer ${token}`];
  // It ends with a failure where the result is an error, and prints the result all the same.
  const { stdout } = await promisify(execFile)(process.execPath, [launcher, ...command, ...header]).catch(
    (error) => error,
  );
  return JSON.parse(stdout);
});
