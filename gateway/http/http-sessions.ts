import { requesterId } from '../../core/requester';
import type { HttpSession } from './http-session';

export interface SessionLimits {
  readonly sessionIdleMs: number;
  readonly sessionsPerRequester: number;
}

interface Entry {
  readonly session: HttpSession;
  lastUsedAtMs: number;
}

/**
 * What the gateway remembers of its clients' sessions, by the ids that clients know. One that is forgotten is no loss:
 * its id says whose it is and which session of the upstream it means.
 */
export class HttpSessions {
  private readonly sessions = new Map<string, Entry>();
  private readonly limits: SessionLimits;
  private readonly sweeping: NodeJS.Timeout;

  constructor(limits: SessionLimits) {
    this.limits = limits;
    this.sweeping = setInterval(() => this.sweep(), Math.min(limits.sessionIdleMs / 4, 30_000)).unref();
  }

  get(id: string): HttpSession | undefined {
    const entry = this.sessions.get(id);
    if (entry === undefined) return undefined;
    entry.lastUsedAtMs = performance.now();
    return entry.session;
  }

  /** Where the requester has too many, the one that was idle longest is forgotten. */
  add(id: string, session: HttpSession): void {
    const key = requesterId(session.requester);
    const own = [...this.sessions].filter(([, entry]) => requesterId(entry.session.requester) === key);
    const idle = own.filter(([, entry]) => !entry.session.isBusy);
    const [oldest] = idle.sort(([, a], [, b]) => a.lastUsedAtMs - b.lastUsedAtMs);
    if (oldest !== undefined && own.length >= this.limits.sessionsPerRequester) this.sessions.delete(oldest[0]);
    this.sessions.set(id, { session, lastUsedAtMs: performance.now() });
  }

  delete(id: string): void {
    this.sessions.delete(id);
  }

  close(): void {
    clearInterval(this.sweeping);
    this.sessions.clear();
  }

  private sweep(): void {
    const beforeMs = performance.now() - this.limits.sessionIdleMs;
    for (const [id, { session, lastUsedAtMs }] of this.sessions)
      if (lastUsedAtMs < beforeMs && !session.isBusy) this.sessions.delete(id);
  }
}
