import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { TURN_LIMITS } from '../core/turn';
import { answerToServer, isIdOf, isParsedJson, lost, readRpcMessage } from './rpc';
import type { RpcConnection, RpcReply, RpcRequest } from './rpc';
import { limitTime } from './time-limit';

/** The envelope of JSON-RPC around a result. */
const MAX_LINE_BYTES = TURN_LIMITS.resultBytes + 4_096;
const KEPT_STDERR_CHARS = 2_000;

export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
}

export type StdioStart =
  { readonly ok: true; readonly connection: RpcConnection } | { readonly ok: false; readonly detail: string };

/** Starts a tool server as a child process and speaks with it line by line. */
export async function startStdioConnection({ command, args, env, cwd }: StdioCommand): Promise<StdioStart> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    ...(cwd !== null && { cwd }),
    stderr: 'pipe',
    maxBufferSize: MAX_LINE_BYTES,
  });
  const connection = new StdioConnection(transport);
  try {
    await transport.start();
    return { ok: true, connection };
  } catch (error) {
    return { ok: false, detail: `${command} cannot be started: ${error instanceof Error ? error.message : 'unknown'}` };
  }
}

class StdioConnection implements RpcConnection {
  closed = false;
  private readonly transport: StdioClientTransport;
  private readonly pending = new Map<number, (reply: RpcReply) => void>();
  private lastId = 0;
  private stderr = '';
  private fault: string | undefined;

  constructor(transport: StdioClientTransport) {
    this.transport = transport;
    transport.onmessage = (message) => this.receive(message);
    transport.onclose = () => this.ended();
    transport.onerror = (error) => (this.fault = error.message.split('\n')[0]);
    transport.stderr?.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-KEPT_STDERR_CHARS);
    });
  }

  async request({ method, params, timeoutMs, signal }: RpcRequest): Promise<RpcReply> {
    if (this.closed) return { kind: 'notDispatched', detail: this.endDetail() };
    const id = (this.lastId += 1);
    const limit = limitTime(timeoutMs, [signal]);
    try {
      return await new Promise((resolve) => {
        this.pending.set(id, resolve);
        limit.signal.addEventListener('abort', () => resolve(lost(limit.reason() ?? 'ended', true)));
        if (limit.signal.aborted) resolve({ kind: 'notDispatched', detail: limit.reason() ?? 'ended' });
        else this.write({ jsonrpc: '2.0', id, method, params: { ...params } });
      });
    } finally {
      limit.release();
      this.pending.delete(id);
      const reason = limit.reason();
      if (reason !== undefined && method !== 'initialize') this.cancel(id, reason);
    }
  }

  notify(method: string): Promise<void> {
    this.write({ jsonrpc: '2.0', method });
    return Promise.resolve();
  }

  useProtocol(): void {
    // Only HTTP repeats the revision in each message.
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.transport.close();
    this.ended();
  }

  private receive(value: JSONRPCMessage): void {
    if (!isParsedJson(value)) return;
    const message = readRpcMessage(value);
    if (message.kind === 'request') this.write(answerToServer(message));
    if (message.kind !== 'reply') return;
    for (const [id, resolve] of this.pending) if (isIdOf(message.id, id)) resolve(message.reply);
  }

  /** A broken pipe shows as the end of the process, and a full one must not hold up anything else. */
  private write(message: JSONRPCMessage): void {
    this.transport.send(message).catch(() => undefined);
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
    const said = this.stderr.trim().split('\n').slice(-3).join(' / ');
    const why = said === '' ? this.fault : said;
    return why === undefined ? 'the process of the server ended' : `the process of the server ended: ${why}`;
  }
}
