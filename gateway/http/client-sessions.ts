import { randomUUID } from 'node:crypto';
import type { Requester } from '../../core/requester';
import { createSessionIds, type SessionIds } from '../edge/session-ids';
import { HttpSession, type HttpUpstream } from './http-session';
import { HttpSessions, type SessionLimits } from './http-sessions';

/** Ended sessions of which the gateway remembers that they have ended. */
const MOST_ENDED = 10_000;

export interface ClientSessionsOptions extends SessionLimits {
  readonly upstream: HttpUpstream;
  /** Seals the ids; 32 bytes, the same in every gateway. */
  readonly sessionKey: Uint8Array;
  /** True where approved calls run on the client's own session, so that its roots have to be known. */
  readonly runsOnSession: boolean;
}

/**
 * The sessions of a server's clients, by the ids that clients know. A server without sessions gets none from its clients,
 * but the gateway has some with them: what a client cancels is the call of its own session.
 */
export class ClientSessions {
  private readonly upstream: HttpUpstream;
  private readonly runsOnSession: boolean;
  private readonly ids: SessionIds;
  private readonly known: HttpSessions;
  private readonly ended = new Set<string>();

  constructor({ upstream, sessionKey, runsOnSession, ...limits }: ClientSessionsOptions) {
    this.upstream = upstream;
    this.runsOnSession = runsOnSession;
    this.ids = createSessionIds({ key: sessionKey, server: upstream.server });
    this.known = new HttpSessions(limits);
  }

  /**
   * The session of that id; null where it is not this requester's, or has ended. One that another gateway opened is
   * taken over, since its id says whose it is; but not where its roots matter, which only that gateway has heard.
   */
  find(given: string, requester: Requester): HttpSession | null {
    const carried = this.ids.open(given, requester);
    if (carried === null || this.ended.has(given)) return null;
    const known = this.known.get(given);
    if (known !== undefined) return known;
    const { hasRoots, upstreamId } = markOf(carried);
    if (hasRoots && this.runsOnSession) return null;
    const session = new HttpSession(this.upstream, requester, upstreamId);
    session.id = given;
    session.hasRoots = hasRoots;
    this.known.add(given, session);
    return session;
  }

  /** Gives a session that its client has just opened the id that the client is to know. */
  open(session: HttpSession, upstreamId: string | null): string {
    session.upstreamId = upstreamId;
    session.id = this.ids.issue(markText({ upstreamId, hasRoots: session.hasRoots }), session.requester);
    this.known.add(session.id, session);
    return session.id;
  }

  end(given: string): void {
    this.known.delete(given);
    this.ended.add(given);
    const [oldest] = this.ended;
    if (this.ended.size > MOST_ENDED && oldest !== undefined) this.ended.delete(oldest);
  }

  close(): void {
    this.known.close();
  }
}

/** What an id carries of its session. */
interface SessionMark {
  readonly upstreamId: string | null;
  readonly hasRoots: boolean;
}

function markText({ upstreamId, hasRoots }: SessionMark): string {
  return `${hasRoots ? 'r' : '-'}${upstreamId === null ? '-' : 'u'}${upstreamId ?? randomUUID()}`;
}

function markOf(text: string): SessionMark {
  return { hasRoots: text.startsWith('r'), upstreamId: text[1] === 'u' ? text.slice(2) : null };
}
