import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startChild, type Child, type ChildOptions } from '../../worker/child-process';
import { eventually } from '../support/eventually';

const SLEEPER = ['-c', 'echo ready; exec sleep 60'];

async function start(options: Partial<ChildOptions> = {}): Promise<Child> {
  const started = await startChild({ command: 'sh', args: SLEEPER, ...options });
  if (!started.ok) throw new Error(started.detail);
  return started.child;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a child process', () => {
  test('is stopped by SIGTERM', async () => {
    const child = await start();
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
    expect(isAlive(child.pid)).toBe(false);
  });

  test('is stopped by SIGKILL when it ignores SIGTERM', async () => {
    const child = await start({ args: ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'] });
    await child.waitForLine(/ready/, 5_000);
    expect(await child.stop(100)).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('answers every stop with the same exit', async () => {
    const child = await start({ args: ['-c', 'exit 3'] });
    await child.exited;
    expect(await Promise.all([child.stop(), child.kill9()])).toEqual([
      { code: 3, signal: null },
      { code: 3, signal: null },
    ]);
  });

  test('takes the processes that it started with it', async () => {
    const child = await start({ args: ['-c', 'sleep 60 & echo $!; exec sleep 60'] });
    const grandchild = Number(await child.waitForLine(/^\d+$/, 5_000));
    await child.kill9();
    await eventually(() => expect(isAlive(grandchild)).toBe(false));
  });

  test('shows a line that was written before anybody waited for it', async () => {
    const child = await start();
    expect(await child.waitForLine(/ready/, 5_000)).toBe('ready');
    expect(await child.waitForLine(/read/, 5_000)).toBe('ready');
    await child.stop();
  });

  test('gives no line once it has ended, and keeps its last words', async () => {
    const child = await start({ args: ['-c', 'echo out of luck >&2'] });
    expect(await child.waitForLine(/never/, 5_000)).toBeUndefined();
    await child.exited;
    expect(child.recentOutput()).toBe('out of luck');
  });

  test('that does not exist is a value, not an exception', async () => {
    expect(await startChild({ command: '/nowhere/at-all', args: [] })).toEqual({
      ok: false,
      detail: '/nowhere/at-all cannot be started: spawn /nowhere/at-all ENOENT',
    });
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)('does not outlive a parent ended by %s', async (name) => {
    const scratchDir = mkdtempSync(join(tmpdir(), 'holdpoint-test-'));
    const parent = spawn(
      process.execPath,
      ['-r', join(__dirname, '../support/ts-hook.cjs'), join(__dirname, '../support/child-owner.ts'), scratchDir],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    process.kill(parent.pid!, name);
    await eventually(() => expect(isAlive(pid)).toBe(false));
    await eventually(() => expect(existsSync(scratchDir)).toBe(false));
  });
});
