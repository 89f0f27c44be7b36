import { randomBytes } from 'node:crypto';
import { lost, readRpcMessage } from '../../activities/rpc';
import type { RpcReply, RpcRequest } from '../../activities/rpc';
import { limitTime } from '../../activities/time-limit';
import type { JsonObject, JsonValue } from '../../core/json';

const LATE = 'this process was held up after it had reserved the operation';
const NOT_TAKEN = 'the process of the server has ended, or does not read';

interface OwnRequest {
  readonly resolve: (reply: RpcReply) => void;
  readonly repeatable: boolean;
}

/** Requests of the gateway itself on a client's session, under ids that no client can guess or meet. */
export class OwnRequests {
  private readonly prefix = `holdpoint-${randomBytes(16).toString('base64url')}-`;
  private readonly pending = new Map<string, OwnRequest>();
  private readonly write: (message: string) => boolean;
  private readonly onIdle: () => void;
  private lastId = 0;

  constructor(write: (message: string) => boolean, onIdle: () => void) {
    this.write = write;
    this.onIdle = onIdle;
  }

  get size(): number {
    return this.pending.size;
  }

  /** True while a request with an effect is in flight: a call that somebody has approved. */
  get hasEffect(): boolean {
    return [...this.pending.values()].some(({ repeatable }) => !repeatable);
  }

  async request({ method, params, timeoutMs, signal, repeatable, isLate }: RpcRequest): Promise<RpcReply> {
    if (isLate?.() === true) return { kind: 'notDispatched', detail: LATE };
    const limit = limitTime(timeoutMs, [signal]);
    const id = `${this.prefix}${(this.lastId += 1)}`;
    try {
      return await new Promise((resolve) => {
        if (limit.signal.aborted) {
          resolve({ kind: 'notDispatched', detail: limit.reason() ?? '' });
          return;
        }
        this.pending.set(id, { resolve, repeatable });
        limit.signal.addEventListener('abort', () => {
          this.send({ method: 'notifications/cancelled', params: { requestId: id, reason: limit.reason() ?? '' } });
          resolve(lost(limit.reason() ?? '', true));
        });
        if (!this.send({ id, method, params })) resolve({ kind: 'notDispatched', detail: NOT_TAKEN });
      });
    } finally {
      limit.release();
      this.pending.delete(id);
      if (this.pending.size === 0) this.onIdle();
    }
  }

  /** True where the id is of such a request, also of one that nobody waits for any more. */
  owns(id: JsonValue): id is string {
    return typeof id === 'string' && id.startsWith(this.prefix);
  }

  /** Takes the server's answer to one of them. */
  take(id: string, message: JsonValue): void {
    const read = readRpcMessage(message);
    const asked = this.pending.get(id);
    if (read.kind !== 'reply' || asked === undefined) return;
    // Gone at once: what the server asks in its next line does not belong to it any more.
    this.pending.delete(id);
    asked.resolve(read.reply);
  }

  /** The answers cannot come any more. */
  lose(detail: string): void {
    for (const { resolve } of this.pending.values()) resolve(lost(detail));
  }

  private send(message: JsonObject): boolean {
    return this.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}
