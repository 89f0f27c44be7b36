import { spawn, type ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** How a child ended: by its own exit code, or by a signal. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child; this process's own by default. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Called with each line that the child writes, to either stream. */
  readonly onLine?: (line: string) => void;
  /** A folder that belongs to the child alone: deleted when the child has ended, however it or this process ended. */
  readonly scratchDir?: string;
}

export interface Child {
  readonly pid: number;
  /** Settles once the child and whatever it left in its process group are gone and its output was read. */
  readonly exited: Promise<ChildExit>;
  /** The last lines of output, for a message that says why it ended. */
  recentOutput(): string;
  /** The first line, past or future, that matches; `undefined` when the child ended or the time is over. */
  waitForLine(pattern: RegExp, timeoutMs: number): Promise<string | undefined>;
  /** SIGTERM, then SIGKILL after `graceMs` (5 s by default). Safe to call twice. */
  stop(graceMs?: number): Promise<ChildExit>;
  /** SIGKILL at once: what a crash or the kernel's memory killer would do. */
  kill9(): Promise<ChildExit>;
}

export type StartChildResult =
  { readonly ok: true; readonly child: Child } | { readonly ok: false; readonly detail: string };

const KEPT_LINES = 200;
const SHOWN_LINES = 15;

/**
 * Starts a process that cannot outlive this one. It leads a process group of its own, so Ctrl-C in a terminal reaches
 * only this process, which then stops its children in the order it wants.
 */
export async function startChild(options: ChildOptions): Promise<StartChildResult> {
  const { command, args, env, cwd, uid, gid } = options;
  const child = spawn(command, [...args], {
    ...(env !== undefined && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid, stdout, stderr } = child;
  if (pid === undefined) {
    const error = await new Promise<Error>((resolve) => child.once('error', resolve));
    return { ok: false, detail: `${command} cannot be started: ${error.message}` };
  }
  const guard = startGuard(pid, options.scratchDir);
  const output = collectLines([stdout, stderr], options.onLine);
  const exited = ended(child, pid, async () => {
    guard.kill('SIGKILL');
    output.end();
    if (options.scratchDir !== undefined) await rm(options.scratchDir, { recursive: true, force: true });
  });
  return { ok: true, child: controls({ pid, exited, output }) };
}

/**
 * Waits on a pipe from this process. The pipe closes however this process ends, SIGKILL included, and the guard then
 * ends the child's group. The loop is bounded: where nothing reaps orphans a dead group looks alive for ever.
 */
const GUARD_SCRIPT = `
read -r _
kill -s TERM -- "-$1" 2>/dev/null
n=0
while [ $n -lt 60 ] && kill -s 0 -- "-$1" 2>/dev/null; do
  n=$((n + 1))
  [ $n -eq 50 ] && kill -s KILL -- "-$1" 2>/dev/null
  sleep 0.1
done
[ -z "$2" ] || rm -rf -- "$2"
`;

function startGuard(pid: number, scratchDir = ''): ChildProcess {
  const guard = spawn('sh', ['-c', GUARD_SCRIPT, 'guard', String(pid), scratchDir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell there is no guard, and an orderly stop still works.
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

async function ended(child: ChildProcess, pid: number, clean: () => Promise<void>): Promise<ChildExit> {
  const exit = await new Promise<ChildExit>((resolve) => {
    child.once('exit', () => signalGroup(pid, 'SIGKILL'));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  await clean();
  return exit;
}

interface Output {
  readonly lines: readonly string[];
  /** Calls `listener` for each new line, and with `undefined` at the end; returns how to stop. */
  follow(listener: (line: string | undefined) => void): () => void;
  end(): void;
}

function collectLines(streams: readonly Readable[], onLine?: (line: string) => void): Output {
  const lines: string[] = [];
  const followers = new Set<(line: string | undefined) => void>();
  for (const stream of streams) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine?.(line);
      for (const follower of followers) follower(line);
    });
  }
  return {
    lines,
    follow(listener) {
      followers.add(listener);
      return () => followers.delete(listener);
    },
    end() {
      for (const follower of followers) follower(undefined);
    },
  };
}

function controls({ pid, exited, output }: { pid: number; exited: Promise<ChildExit>; output: Output }): Child {
  let over = false;
  void exited.then(() => (over = true));
  return {
    pid,
    exited,
    recentOutput: () => output.lines.slice(-SHOWN_LINES).join('\n'),
    waitForLine(pattern, timeoutMs) {
      const past = output.lines.find((line) => pattern.test(line));
      if (past !== undefined || over) return Promise.resolve(past);
      return new Promise((resolve) => {
        const timer = setTimeout(() => done(undefined), timeoutMs);
        const unfollow = output.follow((line) => {
          if (line === undefined || pattern.test(line)) done(line);
        });
        function done(line: string | undefined): void {
          clearTimeout(timer);
          unfollow();
          resolve(line);
        }
      });
    },
    async stop(graceMs = 5_000) {
      if (over) return exited;
      signal(pid, 'SIGTERM');
      const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
      return exited.finally(() => clearTimeout(timer));
    },
    kill9() {
      if (!over) signal(pid, 'SIGKILL');
      return exited;
    },
  };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

/** Sending to a process that is already gone is what a stop wants, so that error is no error. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const isGone = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}
