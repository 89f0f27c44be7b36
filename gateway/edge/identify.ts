import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import type { Bearer } from './bearer';
import { refusalOf } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';
import type { KeyTimes } from './issuer-keys';
import { challengeOf } from './metadata';
import type { ChallengeParts } from './metadata';
import { createAccessCheck } from './oauth';
import { METADATA_PATH } from './resource';
import type { EdgeSettings, OAuthSettings } from './settings';
import { isTokenForm } from './token-form';
import { createTokenLookUp } from './tokens';

/** Who asks. `challenge` answers a tools/call of one whose token has no scope for it, by `refuse`. */
export type Admitted = { readonly requester: Requester } & (
  { readonly mayCall: true; readonly challenge: null } | { readonly mayCall: false; readonly challenge: Refusal }
);

/** The endpoint that is asked: the origin that clients use, and the path. */
export interface Endpoint {
  readonly origin: string;
  readonly resourcePath: string;
}

/** `reason` is for the log: what a client is told of a token that does not count is the same for all of them. */
export type Identified =
  | { readonly ok: true; readonly admitted: Admitted }
  | { readonly ok: false; readonly refusal: Refusal; readonly reason: string };

export type Identify = (bearer: Bearer, endpoint: Endpoint) => Promise<Identified>;

type Known =
  | { readonly kind: 'local'; readonly requester: Requester }
  | { readonly kind: 'accepted'; readonly requester: Requester; readonly scopes: readonly string[] }
  | { readonly kind: 'wrong' | 'unavailable'; readonly reason: string };

/** Whom a bearer token stands for: a local one by its form, any other by the OAuth issuer. */
export function createIdentify(settings: EdgeSettings, log: Log, times?: KeyTimes): Identify {
  const { oauth } = settings;
  const know = createKnow(settings, log, times);
  return async (bearer, endpoint) => {
    const scopes = oauth?.scopes ?? [];
    const refuse = (parts: ChallengeParts) => challenge(oauth, endpoint, parts);
    if (bearer.kind === 'none') return { ok: false, reason: 'no token', refusal: refuse({ scopes }) };
    const known = bearer.kind === 'token' ? await know(bearer.token, endpoint) : MALFORMED;
    switch (known.kind) {
      case 'local':
        return { ok: true, admitted: { requester: known.requester, mayCall: true, challenge: null } };
      case 'accepted':
        return judgeScopes(known, oauth, refuse);
      case 'wrong':
        return { ok: false, reason: known.reason, refusal: refuse({ error: 'invalid_token', scopes }) };
      case 'unavailable':
        return { ok: false, reason: known.reason, refusal: UNAVAILABLE };
    }
  };
}

const MALFORMED = { kind: 'wrong', reason: 'no bearer token can be read' } as const;

const UNAVAILABLE = refusalOf(503, 'Who you are cannot be checked now, so nothing was done; try again later', {
  headers: { 'retry-after': '10' },
});

function createKnow(
  { tokensFile, oauth }: EdgeSettings,
  log: Log,
  times: KeyTimes | undefined,
): (token: string, endpoint: Endpoint) => Promise<Known> {
  const lookUp = tokensFile === null ? null : createTokenLookUp(tokensFile, log);
  const check = oauth === null ? null : createAccessCheck(oauth, times);
  return async (token, endpoint) => {
    if (lookUp !== null && (check === null || isTokenForm(token))) {
      const found = lookUp(token);
      if (found.kind === 'found') return { kind: 'local', requester: found.requester };
      if (found.kind === 'wrong') return { kind: 'wrong', reason: 'the local token is not known' };
      return { kind: 'unavailable', reason: 'the file of local tokens cannot be read' };
    }
    if (check === null) return { kind: 'wrong', reason: 'no way to know anybody is set' };
    return check(token, oauth?.audiences ?? audiencesOf(endpoint));
  };
}

/** The endpoint itself, or the gateway as a whole, which some clients write with a slash. */
function audiencesOf({ origin, resourcePath }: Endpoint): readonly string[] {
  return [`${origin}${resourcePath}`, origin, `${origin}/`];
}

function judgeScopes(
  { requester, scopes }: Extract<Known, { readonly kind: 'accepted' }>,
  oauth: OAuthSettings | null,
  refuse: (parts: ChallengeParts) => Refusal,
): Identified {
  const required = oauth?.scopes ?? [];
  const error = 'insufficient_scope';
  if (!required.every((scope) => scopes.includes(scope))) {
    return { ok: false, reason: error, refusal: refuse({ error, scopes: required }) };
  }
  const callScope = oauth?.callScope ?? null;
  if (callScope === null || scopes.includes(callScope)) {
    return { ok: true, admitted: { requester, mayCall: true, challenge: null } };
  }
  // All that a call needs, and not the new one alone: a client asks for exactly what a challenge names.
  const step = refuse({ error, scopes: [...required, callScope] });
  return { ok: true, admitted: { requester, mayCall: false, challenge: step } };
}

const MESSAGES = {
  insufficient_scope: 'The access token lacks a scope that this needs; get one with the scopes that are named',
  invalid_token: 'The token is not known here, or is not for this endpoint, or has expired; get a new one',
  none: 'This gateway serves only whom it knows: send Authorization: Bearer and a token',
};

function challenge(oauth: OAuthSettings | null, { origin, resourcePath }: Endpoint, parts: ChallengeParts): Refusal {
  const metadataUrl = oauth === null ? null : `${origin}${METADATA_PATH}${resourcePath}`;
  const headers = { 'www-authenticate': challengeOf(metadataUrl, parts) };
  return refusalOf(parts.error === 'insufficient_scope' ? 403 : 401, MESSAGES[parts.error ?? 'none'], { headers });
}
