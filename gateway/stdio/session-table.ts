import { requesterId, type Requester } from '../../core/requester';
import type { StdioLimits } from './limits';
import type { StdioSession } from './stdio-session';

/** The sessions of one server, each bound to the requester that began it. */
export class SessionTable {
  private readonly sessions = new Map<string, StdioSession>();
  private readonly beginning = new Map<string, number>();
  private readonly limits: StdioLimits;
  private readonly sweeping: NodeJS.Timeout;

  constructor(limits: StdioLimits) {
    this.limits = limits;
    const everyMs = Math.max(20, Math.min(limits.idleMs / 4, 30_000));
    this.sweeping = setInterval(() => this.sweep(), everyMs).unref();
  }

  /** Another requester's session is as unknown as one that never was. */
  find(id: string, requester: Requester): StdioSession | undefined {
    const session = this.sessions.get(id);
    return session !== undefined && requesterId(session.requester) === requesterId(requester) ? session : undefined;
  }

  /**
   * Reserves a place for a session that begins, until `giveUp`. Where the requester has too many, its session that was
   * idle longest ends; false where none is idle.
   */
  reserve(requester: Requester): boolean {
    const key = requesterId(requester);
    const own = [...this.sessions.values()].filter((session) => requesterId(session.requester) === key);
    const beginning = this.beginning.get(key) ?? 0;
    if (own.length + beginning >= this.limits.sessionsPerRequester) {
      const [oldest] = own.filter(({ isIdle }) => isIdle).sort((a, b) => a.lastUsedMs - b.lastUsedMs);
      if (oldest === undefined) return false;
      oldest.close('another session of the same requester took its place');
    }
    this.beginning.set(key, beginning + 1);
    return true;
  }

  add(session: StdioSession): void {
    this.sessions.set(session.id, session);
  }

  giveUp(requester: Requester): void {
    const key = requesterId(requester);
    const left = (this.beginning.get(key) ?? 1) - 1;
    if (left > 0) this.beginning.set(key, left);
    else this.beginning.delete(key);
  }

  remove(session: StdioSession): void {
    this.sessions.delete(session.id);
  }

  stopSweeping(): void {
    clearInterval(this.sweeping);
  }

  private sweep(): void {
    const before = performance.now() - this.limits.idleMs;
    for (const session of this.sessions.values()) {
      if (session.isIdle && session.lastUsedMs < before) session.close('it was idle for too long');
    }
  }
}
