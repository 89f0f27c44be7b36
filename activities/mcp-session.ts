import type { Connected } from './connect';
import type { RpcConnection, RpcReply, RpcRequest } from './rpc';

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5_000;
const LATE = 'this process was held up, or its connection took too long, after it had reserved the operation';

export interface McpSessionOptions {
  readonly connect: () => Promise<Connected>;
  /** True where each try starts a process: a server that cannot start is then not started in a tight loop. */
  readonly backOff: boolean;
  /** How long an unused session is kept. */
  readonly idleMs: number;
}

/** One warm session with a tool server: opened on demand, opened again when it is gone, closed when idle. */
export class McpSession {
  private readonly options: McpSessionOptions;
  private readonly uses = new Map<RpcConnection, number>();
  private opening: Promise<Connected> | undefined;
  private idle: NodeJS.Timeout | undefined;
  private closed = false;
  private failures = 0;
  private notBeforeMs = 0;
  private lastFailure = '';

  constructor(options: McpSessionOptions) {
    this.options = options;
  }

  /** Sends one request. A call is sent once: again only where a session's 404 proves that nothing was taken up. */
  async request(request: RpcRequest): Promise<RpcReply> {
    const reply = await this.attempt(request);
    const again = reply.kind === 'sessionGone' || (request.repeatable && isLostBySession(reply));
    return again ? this.attempt(request) : reply;
  }

  /** Ends the session for good; what is in flight is lost. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.idle);
    const opened = await this.opening;
    if (opened?.ok === true) await opened.connection.close();
    await Promise.all([...this.uses.keys()].map((connection) => connection.close()));
  }

  private async attempt(request: RpcRequest): Promise<RpcReply> {
    const opened = await this.open();
    if (!opened.ok) return { kind: 'notDispatched', detail: opened.detail };
    if (request.isLate?.() === true) return { kind: 'notDispatched', detail: LATE };
    const { connection } = opened;
    this.uses.set(connection, (this.uses.get(connection) ?? 0) + 1);
    clearTimeout(this.idle);
    const reply = await connection.request(request);
    if (isLostBySession(reply)) await this.forget(connection);
    await this.release(connection);
    return reply;
  }

  private async open(): Promise<Connected> {
    const { opening } = this;
    const current = await opening;
    if (current?.ok === true && !current.connection.closed) return current;
    // Whoever comes first opens the next one, the others wait for it.
    if (this.opening === opening) this.opening = this.reconnect();
    return this.opening ?? this.open();
  }

  private async reconnect(): Promise<Connected> {
    if (this.closed) return { ok: false, detail: 'the connections to tool servers are closed' };
    if (this.options.backOff && Date.now() < this.notBeforeMs) return { ok: false, detail: this.lastFailure };
    const connected = await this.options.connect();
    if (connected.ok) {
      this.failures = 0;
      return connected;
    }
    this.notBeforeMs = Date.now() + Math.min(FIRST_BACKOFF_MS * 2 ** this.failures, LONGEST_BACKOFF_MS);
    this.failures += 1;
    this.lastFailure = connected.detail;
    return connected;
  }

  /** The next request opens a new session; another request may have opened one already, and that one stays. */
  private async forget(connection: RpcConnection): Promise<void> {
    const { opening } = this;
    const current = await opening;
    const isCurrent = current?.ok === true && current.connection === connection;
    if (isCurrent && this.opening === opening) this.opening = undefined;
  }

  /** The last user of a forgotten connection closes it; a current one is closed when it was idle for long enough. */
  private async release(connection: RpcConnection): Promise<void> {
    const uses = (this.uses.get(connection) ?? 1) - 1;
    if (uses > 0) {
      this.uses.set(connection, uses);
      return;
    }
    this.uses.delete(connection);
    const current = await this.opening;
    if (current?.ok === true && current.connection === connection) {
      this.idle = setTimeout(() => void this.closeIdle(connection), this.options.idleMs).unref();
    } else {
      void connection.close();
    }
  }

  private async closeIdle(connection: RpcConnection): Promise<void> {
    if (this.uses.has(connection)) return;
    await this.forget(connection);
    await connection.close();
  }
}

/** Servers that lost their sessions should answer 404; many answer 400 with an error of their own, or just reset. */
function isLostBySession(reply: RpcReply): boolean {
  if (reply.kind === 'lost') return !reply.timedOut;
  return reply.kind === 'sessionGone' || (reply.kind === 'error' && reply.httpStatus === 400);
}
