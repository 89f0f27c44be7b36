import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startChild, type Child } from '../worker/child-process';

const run = promisify(execFile);

const READY_TIMEOUT_MS = 60_000;

export type ProcessName = 'gateway' | 'bare-worker' | 'holdpoint-worker' | 'tool-server' | 'ledger-load';

/** Starts one of the programs of `processes/`; it cannot outlive this process. */
export async function startProcess(name: ProcessName, args: readonly string[]): Promise<Child> {
  const file = join(__dirname, 'processes', `${name}.js`);
  const started = await startChild({ command: process.execPath, args: [file, ...args] });
  if (!started.ok) throw new Error(started.detail);
  return started.child;
}

/** What follows `ready` in the line by which a program says that it serves. */
export async function whenReady(name: ProcessName, child: Child): Promise<string> {
  const line = await child.waitForLine(/^ready\b/, READY_TIMEOUT_MS);
  if (line !== undefined) return line.slice('ready'.length).trim();
  await child.stop();
  throw new Error(`${name} did not start:\n${child.recentOutput()}`);
}

/** The memory that a process holds, in MB. */
export async function residentMb({ pid }: Child): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kiB = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
  return Number(kiB) / 1024;
}
