import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connectionFault } from '../../activities/http-exchange';
import { LineReader } from '../../activities/line-reader';
import { resolveRecord } from '../../activities/secret-references';
import type { ResolveSecret } from '../../activities/secret-references';
import type { Transport } from '../../core/policy';
import { TURN_LIMITS } from '../../core/turn';
import { onOneLine } from '../wire/raw-json';

/** The envelope of JSON-RPC around a result. */
export const MAX_LINE_BYTES = TURN_LIMITS.resultBytes + 4_096;
/** What may wait in this process for a server that does not read. */
const MAX_UNREAD_BYTES = 64 * 1_024 * 1_024;
const KEPT_STDERR_CHARS = 2_000;
const GRACE_MS = 2_000;
/** What the process wrote last may still be in the pipe when its end is known. */
const LAST_WORDS_MS = 200;

export type StdioTransport = Extract<Transport, { readonly kind: 'stdio' }>;

/** Who hears of a process: each line that it writes (undefined: one that is too long), and its end, once. */
export interface ProcessListener {
  line(line: string | undefined): void;
  ended(how: string): void;
}

/** What a session speaks to: lines in, lines out, and its end, which is noticed at once. */
export interface ServerProcess {
  readonly alive: boolean;
  readonly pid: number | undefined;
  /** The last that it wrote to its standard error; untrusted. */
  readonly stderr: string;
  listen(listener: ProcessListener): void;
  /** Sends one message as it is. False where nothing was sent: it is gone, or does not read. */
  write(message: string): boolean;
  close(): Promise<void>;
}

export type ProcessStart =
  { readonly ok: true; readonly process: ServerProcess } | { readonly ok: false; readonly detail: string };

/** Starts the process of a server, with the environment that the policy gives it and little of ours. */
export async function startServerProcess(
  { command, args, env, cwd }: StdioTransport,
  resolveSecret: ResolveSecret,
): Promise<ProcessStart> {
  const resolved = resolveRecord(env, resolveSecret);
  if (!resolved.ok) {
    return {
      ok: false,
      detail: `\${${resolved.missing}} is not set; set it where the gateway runs and start it again`,
    };
  }
  const child = spawn(command, args, {
    env: { ...getDefaultEnvironment(), ...resolved.value },
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    ...(cwd !== null && { cwd }),
  });
  const process = new ChildServer(child);
  try {
    await once(child, 'spawn');
    return { ok: true, process };
  } catch (error) {
    return { ok: false, detail: `${command} cannot be started: ${connectionFault(error)}` };
  }
}

class ChildServer implements ServerProcess {
  stderr = '';
  private readonly child: ChildProcessWithoutNullStreams;
  private listener: ProcessListener | undefined;
  private end: string | undefined;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    const lines = new LineReader(MAX_LINE_BYTES, (line) => this.listener?.line(line?.replace(/\r$/, '')));
    child.stdout.on('data', (chunk: Buffer) => lines.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-KEPT_STDERR_CHARS);
    });
    // A broken pipe shows as the end of the process.
    child.stdin.on('error', () => undefined);
    child.on('error', () => undefined);
    child.on('exit', () => setTimeout(() => this.hasEnded(), LAST_WORDS_MS).unref());
    // A process that has closed its output can answer nothing any more, whether it goes on or not.
    child.stdout.on('end', () => setTimeout(() => this.hasEnded(), LAST_WORDS_MS).unref());
    child.on('close', () => this.hasEnded());
  }

  get alive(): boolean {
    return this.end === undefined;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  listen(listener: ProcessListener): void {
    this.listener = listener;
    if (this.end !== undefined) listener.ended(this.end);
  }

  /**
   * On one line: a raw newline can stand only between the tokens of a JSON text, so a blank in its place changes
   * nothing.
   */
  write(message: string): boolean {
    const { stdin } = this.child;
    if (!this.alive || !stdin.writable || stdin.writableLength > MAX_UNREAD_BYTES) return false;
    stdin.write(`${onOneLine(message)}\n`);
    return true;
  }

  /** As the protocol asks: the end of the input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const { child } = this;
    const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    const exited = isGone() ? undefined : once(child, 'exit');
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await Promise.race([exited, delay(GRACE_MS, undefined, { ref: false })]);
      if (!isGone()) child.kill(signal);
    }
    await exited;
    this.hasEnded();
  }

  private hasEnded(): void {
    if (this.end !== undefined) return;
    const { exitCode, signalCode } = this.child;
    this.end = exitCode === null ? (signalCode ?? 'its output was closed') : `exit code ${exitCode}`;
    this.listener?.ended(this.end);
  }
}
