import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processIo } from '../../cli/io';
import { createProgram } from '../../cli/program';
import { ERRORS } from '../../core/errors';
import { EXIT_CODES } from '../../cli/exit-codes';
import { assertBuilt, bareEnvironment, CLI, run } from '../support/cli';
import { commandDocs, helpOf, leavesOf } from '../support/command-docs';

const DOCS = join(__dirname, '../../docs/cli.md');
const MARKS = ['<!-- commands -->\n', '\n<!-- end of commands -->'] as const;

const newProgram = () => createProgram({ io: processIo(), end: () => Promise.resolve() });
const leaves = leavesOf(newProgram());

beforeAll(assertBuilt);

describe('docs/cli.md', () => {
  test('has the help of every command, word for word (UPDATE_DOCS=1 writes it)', () => {
    const text = readFileSync(DOCS, 'utf8');
    const [start, end] = [text.indexOf(MARKS[0]) + MARKS[0].length, text.indexOf(MARKS[1])];
    const wanted = `\n${commandDocs(newProgram())}\n`;
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(DOCS, text.slice(0, start) + wanted + text.slice(end));
    expect(readFileSync(DOCS, 'utf8').slice(start, -text.length + end)).toBe(wanted);
  });

  test('has the table of exit codes', () => {
    const text = readFileSync(DOCS, 'utf8');
    for (const { code, means } of Object.values(EXIT_CODES)) expect(text).toContain(`| ${code} | ${means} |`);
  });

  test('lists every variable of the environment that is read', () => {
    const text = readFileSync(DOCS, 'utf8');
    const files = [
      'worker/worker-settings.ts',
      'cli/place.ts',
      'cli/temporal.ts',
      'cli/reviewer.ts',
      'cli/failure.ts',
      'cli/public-keys.ts',
      'cli/commands/worker.ts',
      'client/connect.ts',
    ];
    const source = files.map((file) => readFileSync(join(__dirname, '../..', file), 'utf8')).join('\n');
    const names = new Set([...source.matchAll(/\b(?:HOLDPOINT|TEMPORAL)_[A-Z_]+\b/g)].map(([name]) => name));
    for (const name of names) if (!Object.hasOwn(ERRORS, name)) expect(text).toContain(`\`${name}\``);
  });
});

describe('--help', () => {
  test.each(leaves.map(({ words, command }) => [words, command] as const))(
    'of %s has an example of that command and its exit codes',
    (words, command) => {
      const help = helpOf(command);
      expect(help).toMatch(new RegExp(`\\nExamples:\\n {2}\\$ .*\\b${words}\\b`));
      expect(help).toMatch(/\nExit codes:\n {2}0 {2}done\n {2}1 {2}/);
    },
  );

  test('and help for a command print the same, to stdout, with 0', async () => {
    const [one, other] = [await run(['turn', 'start', '--help']), await run(['help', 'turn'])];
    expect(one).toMatchObject({ code: 0, stderr: '' });
    expect(one.stdout).toContain('Usage: holdpoint turn start');
    expect(other).toMatchObject({ code: 0, stderr: '' });
  });

  test('without any word the command prints its help to stderr and ends with 1', async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Usage: holdpoint');
  });
});

describe('the built command', () => {
  const env = bareEnvironment();

  test('runs as a file, and prints the version of the package', () => {
    const { stdout, status } = spawnSync(process.execPath, [CLI, '--version'], { env, encoding: 'utf8' });
    const { version } = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { version: string };
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
    expect(readFileSync(CLI, 'utf8').startsWith('#!/usr/bin/env node\n')).toBe(true);
  });

  test.each(['18.20.8', '20.18.3', '4.9.1'])('on Node %s says what is needed, before it loads anything', (version) => {
    const script = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require('node:module').prototype.require = new Proxy(require('node:module').prototype.require, { apply(target, self, [id]) { if (/program|commander|temporalio/.test(id)) throw new Error('loaded ' + id); return Reflect.apply(target, self, [id]); } }); require(${JSON.stringify(CLI)});`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--eval', script], { env, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      `holdpoint: Node 20.19 or later is needed, this is ${version}. Nothing was started.\nInstall a current Node (https://nodejs.org), then run the same command again.\n`,
    );
  });

  test('ends quietly when its reader has seen enough', () => {
    const script = `${process.execPath} ${CLI} --help | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { env, encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: 'Usage: holdpoint [options] [command]\n0\n', stderr: '' });
  });
});
