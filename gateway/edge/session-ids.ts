import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Requester } from '../../core/requester';

/** Session ids that are a requester's own. */
export interface SessionIds {
  /** The id that the client gets for a session of the upstream. */
  issue(upstreamId: string, requester: Requester): string;
  /** The upstream's id; null for the id of another requester or server, and for anything that was not issued. */
  open(id: string, requester: Requester): string | null;
}

const KEY_BYTES = 32;
const FORM = /^s1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/**
 * Session ids that carry the upstream's own, bound to requester and server by an HMAC: a session id that somebody
 * else got hold of opens nothing (MCP, security best practices, session hijacking). Nothing is stored, so every gateway
 * with the same key opens them. An id hides nothing: it is no secret of the upstream's.
 */
export function createSessionIds({ key, server }: { readonly key: Uint8Array; readonly server: string }): SessionIds {
  if (key.length !== KEY_BYTES) throw new TypeError(`A key of session ids has ${KEY_BYTES} bytes, not ${key.length}`);
  const seal = (upstreamId: string, { subject, agent, chain }: Requester): Buffer => {
    const bound = ['holdpoint-session', 1, server, upstreamId, subject, agent, chain];
    return createHmac('sha256', key).update(JSON.stringify(bound)).digest();
  };
  return {
    issue: (upstreamId, requester) => {
      const carried = Buffer.from(upstreamId, 'utf8').toString('base64url');
      return `s1.${carried}.${seal(upstreamId, requester).toString('base64url')}`;
    },
    open: (id, requester) => {
      const [, carried = '', mac = ''] = FORM.exec(id) ?? [];
      if (carried === '') return null;
      const upstreamId = Buffer.from(carried, 'base64url').toString('utf8');
      const expected = seal(upstreamId, requester);
      return timingSafeEqual(Buffer.from(mac, 'base64url'), expected) && isCanonical(id, upstreamId, expected)
        ? upstreamId
        : null;
    },
  };
}

/** Base64 has spare bits at its end: of the ids that decode alike only the issued one counts. */
function isCanonical(id: string, upstreamId: string, mac: Buffer): boolean {
  return id === `s1.${Buffer.from(upstreamId, 'utf8').toString('base64url')}.${mac.toString('base64url')}`;
}
