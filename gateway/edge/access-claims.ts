import type { JWTPayload } from 'jose';
import { memberOf } from '../../core/member';
import type { Requester } from '../../core/requester';
import { isPrincipal, MAX_CHAIN } from './principal';

/** Whom an access token stands for; `reason` is for the log. */
export type ReadClaims =
  | { readonly ok: true; readonly requester: Requester; readonly scopes: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the claims of a verified access token (RFC 9068): the subject from `sub`, the agent from `client_id` or `azp`,
 * the chain from `act` (RFC 8693, section 4.1). Each `sub` gets the prefix, those of `act` too, so that a person is
 * recognised wherever in the chain; but the last actor is the agent where it is the client itself.
 */
export function readAccessClaims(payload: JWTPayload, subjectPrefix: string): ReadClaims {
  const { sub } = payload;
  // A token that is bound to a key of its holder would count without that key here (RFC 7800, RFC 9449).
  if (payload['cnf'] !== undefined) return { ok: false, reason: 'the token is bound to a key' };
  const agent = payload['client_id'] ?? payload['azp'];
  const subject = `${subjectPrefix}${sub ?? ''}`;
  if (!isPrincipal(sub) || !isPrincipal(subject)) return { ok: false, reason: 'sub names no subject' };
  if (!isPrincipal(agent)) return { ok: false, reason: 'neither client_id nor azp names a client' };
  const actors = actorsOf(payload['act']);
  if (actors === null) return { ok: false, reason: 'act is no chain of actors' };
  const before = actors.at(-1) === agent ? actors.slice(0, -1) : actors;
  const chain = actors.length === 0 ? [] : [subject, ...before.map((actor) => `${subjectPrefix}${actor}`), agent];
  if (chain.length > MAX_CHAIN || !chain.every(isPrincipal)) return { ok: false, reason: 'act is no chain of actors' };
  return { ok: true, requester: { subject, agent, chain }, scopes: scopesOf(payload) };
}

/** The actors from the first to the one that acts now: `act` names the last, and in it the one before. */
function actorsOf(act: unknown): readonly string[] | null {
  const actors: string[] = [];
  for (let actor = act; actor !== undefined; actor = memberOf(actor, 'act')) {
    const sub = memberOf(actor, 'sub');
    if (!isPrincipal(sub) || actors.length === MAX_CHAIN) return null;
    actors.unshift(sub);
  }
  return actors;
}

/** `scope` is a text (RFC 9068, section 2.2.3); some issuers write `scp`, as a text or as a list. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const given = payload['scope'] ?? payload['scp'];
  const scopes: readonly unknown[] = Array.isArray(given) ? given : [given];
  return scopes.flatMap((scope) => (typeof scope === 'string' ? scope.split(' ') : [])).filter((scope) => scope !== '');
}
