import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { generateReviewerKey, publicKeyOf } from '../../client';
import { writeDevFile } from '../../cli/dev/dev-file';
import type { Io } from '../../cli/io';
import { runCli } from '../../cli/program';
import { startHarness, type Harness, type HarnessOptions } from './harness';

/** How a command ended, and what it wrote. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdin?: string;
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'holdpoint-cli-'));
}

/** Runs a command in this process, as if neither stream were a terminal. */
export async function run(
  args: readonly string[],
  { cwd = tmpdir(), env = {}, stdin = '' }: Surroundings = {},
): Promise<Ran> {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTty: false,
    color: false,
  });
  const io: Io = { env, cwd, stdin: Readable.from([stdin]), stdout: output('stdout'), stderr: output('stderr') };
  return { code: await runCli(args, io), ...written };
}

/** The built command, for tests of whole processes; `npm test` builds it. */
export const CLI = join(__dirname, '../../dist/cli/main.js');

export function assertBuilt(): void {
  if (!existsSync(CLI)) throw new Error(`${CLI} is not there: run "npm run build" first`);
}

export interface CliProcess {
  readonly pid: number;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<number | null>;
  signal(name: NodeJS.Signals): void;
}

/** Starts the built command as a process of its own. */
export function start(args: readonly string[], surroundings: Surroundings = {}): CliProcess {
  return startProcess(CLI, args, surroundings);
}

/** Starts a built program as a process of its own. */
export function startProcess(
  program: string,
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: Surroundings = {},
): CliProcess {
  assertBuilt();
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...bareEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { pid: child.pid ?? 0, output, exited, signal: (name) => child.kill(name) };
}

/** This process's environment without what would lead a command elsewhere. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TEMPORAL|HOLDPOINT)_/.test(name)));
}

/** A worker, a ledger and a tool server in this process, and a state folder that leads commands to them. */
export interface CliStage {
  readonly harness: Harness;
  readonly stateDir: string;
  /** Runs a command on this stage. */
  run(args: readonly string[], more?: Surroundings): Promise<Ran>;
  close(): Promise<void>;
}

/** The reviewer of the stage's state folder is r1, with a key of its own. */
export async function startCliStage(options: HarnessOptions = {}): Promise<CliStage> {
  const stateDir = temporaryFolder();
  const ledgerUrl = pathToFileURL(join(stateDir, 'ledger.db')).href;
  const keyFile = join(stateDir, 'keys', 'r1.pem');
  mkdirSync(join(stateDir, 'keys'));
  writeFileSync(keyFile, generateReviewerKey().privateKey, { mode: 0o600 });
  const people = `  r1: { groups: [dba], key: '${publicKeyOf(readFileSync(keyFile, 'utf8'))}' }
  r2: { groups: [dba] }
  l1: { groups: [dba-leads] }
  u1: { groups: [platform] }
  u2: { groups: [platform] }`;
  const harness = await startHarness({ ledgerUrl, ...options, policy: { people, ...options.policy } });
  await writeDevFile(stateDir, {
    v: 1,
    pid: process.pid,
    startedAtMs: Date.now(),
    temporal: {
      address: options.address ?? process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
      namespace: 'default',
      uiUrl: 'http://127.0.0.1:1',
    },
    taskQueue: harness.taskQueue,
    ledgerUrl,
    healthUrl: 'http://127.0.0.1:1',
    permitKeyFile: join(stateDir, 'keys', 'permit.pem'),
    agent: { subject: 'u1', agent: 'bot' },
    reviewer: { name: 'r1', keyFile },
    example: null,
  });
  return {
    harness,
    stateDir,
    run: ([command = '', ...args], more) => {
      const words = GROUPS.includes(command)
        ? [command, args[0] ?? '', '--state', stateDir, ...args.slice(1)]
        : [command, '--state', stateDir, ...args];
      return run(words, more);
    },
    close: async () => {
      await harness.close();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

const GROUPS = ['turn', 'grant', 'retrospective', 'report', 'policy', 'audit', 'ledger'];
