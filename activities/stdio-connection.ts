import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { TURN_LIMITS } from '../core/turn';
import type { JsonObject } from '../core/json';
import { connectionFault } from './http-exchange';
import { LineReader } from './line-reader';
import { answerToServer, isIdOf, lost, parseJson, readRpcMessage } from './rpc';
import type { RpcConnection, RpcReply, RpcRequest } from './rpc';
import { limitTime } from './time-limit';

/** The envelope of JSON-RPC around a result. */
const MAX_LINE_BYTES = TURN_LIMITS.resultBytes + 4_096;
const KEPT_STDERR_CHARS = 2_000;
const GRACE_MS = 2_000;
/** What the process wrote last may still be in the pipe when its end is known. */
const LAST_WORDS_MS = 200;

export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
}

export type StdioStart =
  { readonly ok: true; readonly connection: RpcConnection } | { readonly ok: false; readonly detail: string };

/** Starts a tool server as a child process, with the environment that the policy gives it and little of ours. */
export async function startStdioConnection({ command, args, env, cwd }: StdioCommand): Promise<StdioStart> {
  const child = spawn(command, args, {
    env: { ...getDefaultEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    ...(cwd !== null && { cwd }),
  });
  const connection = new StdioConnection(child);
  try {
    await once(child, 'spawn');
    return { ok: true, connection };
  } catch (error) {
    return { ok: false, detail: `${command} cannot be started: ${connectionFault(error)}` };
  }
}

class StdioConnection implements RpcConnection {
  closed = false;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly pending = new Map<number, (reply: RpcReply) => void>();
  private lastId = 0;
  private stderr = '';

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    const lines = new LineReader(MAX_LINE_BYTES, (line) => this.receive(line));
    child.stdout.on('data', (chunk: Buffer) => lines.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-KEPT_STDERR_CHARS);
    });
    // A broken pipe shows as the end of the process.
    child.stdin.on('error', () => undefined);
    child.on('error', () => undefined);
    child.on('exit', () => setTimeout(() => this.ended(), LAST_WORDS_MS).unref());
    child.on('close', () => this.ended());
  }

  async request({ method, params, timeoutMs, signal }: RpcRequest): Promise<RpcReply> {
    if (this.closed) return { kind: 'notDispatched', detail: this.endDetail() };
    const limit = limitTime(timeoutMs, [signal]);
    const id = (this.lastId += 1);
    try {
      return await new Promise((resolve) => {
        this.pending.set(id, resolve);
        limit.signal.addEventListener('abort', () => {
          if (method !== 'initialize') this.cancel(id, limit.reason() ?? '');
          resolve(lost(limit.reason() ?? '', true));
        });
        if (limit.signal.aborted) resolve({ kind: 'notDispatched', detail: limit.reason() ?? '' });
        else this.write({ jsonrpc: '2.0', id, method, params });
      });
    } finally {
      limit.release();
      this.pending.delete(id);
    }
  }

  notify(method: string): Promise<void> {
    this.write({ jsonrpc: '2.0', method });
    return Promise.resolve();
  }

  useProtocol(): void {
    // Only HTTP repeats the revision in each message.
  }

  /** As the protocol asks: the end of the input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const { child } = this;
    this.closed = true;
    const exited = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit');
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await Promise.race([exited, delay(GRACE_MS, undefined, { ref: false })]);
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    }
    await exited;
    this.ended();
  }

  private receive(line: string | undefined): void {
    if (line === undefined) {
      this.skipped();
      return;
    }
    const value = parseJson(line);
    if (value === undefined) return;
    const message = readRpcMessage(value);
    if (message.kind === 'request') this.write(answerToServer(message));
    if (message.kind !== 'reply') return;
    for (const [id, resolve] of this.pending) if (isIdOf(message.id, id)) resolve(message.reply);
  }

  /** Whose answer it was can be said only where there is one call; others find out by their time. */
  private skipped(): void {
    const [only, another] = this.pending.values();
    if (another === undefined) only?.(lost(`the answer is longer than ${MAX_LINE_BYTES} bytes`));
  }

  private write(message: JsonObject): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private cancel(requestId: number, reason: string): void {
    this.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  }

  private ended(): void {
    this.closed = true;
    for (const resolve of this.pending.values()) resolve(lost(this.endDetail()));
    this.pending.clear();
  }

  private endDetail(): string {
    const { exitCode, signalCode } = this.child;
    const how = exitCode === null ? (signalCode ?? 'closed') : `exit code ${exitCode}`;
    const said = this.stderr.trim().split('\n').slice(-3).join(' / ');
    return `the process of the server ended (${how})${said === '' ? '' : `: ${said}`}`;
  }
}
