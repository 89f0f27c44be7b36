import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { JWTPayload, RemoteJWKSet } from 'jose';
import { memberOf } from '../../core/member';
import type { Requester } from '../../core/requester';
import { reasonOf } from '../../ledger/ledger-error';
import { readAccessClaims } from './access-claims';
import { createIssuerKeys } from './issuer-keys';
import type { KeyTimes } from './issuer-keys';
import type { OAuthSettings } from './settings';

/** `unavailable`: whether the token counts cannot be known now. `reason` is for the log and holds no part of it. */
export type AccessVerdict =
  | { readonly kind: 'accepted'; readonly requester: Requester; readonly scopes: readonly string[] }
  | { readonly kind: 'wrong'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Judges an access token for an endpoint; `audiences` are the names of the endpoint. Never throws. */
export type AccessCheck = (token: string, audiences: readonly string[]) => Promise<AccessVerdict>;

/** Signatures by a private key only: with a shared secret, whoever can check a token could make one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Of RFC 9068, and what issuers write who do not follow it. Anything else was signed for another purpose. */
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt', ''];
const CLOCK_TOLERANCE_S = 30;

/** Faults of a token; whatever else goes wrong is a fault of the keys. */
const TOKEN_FAULTS = new Set([
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
]);

/** The check of an OAuth 2.1 resource server: JWT access tokens (RFC 9068) of one issuer, for one audience (RFC 8707). */
export function createAccessCheck(oauth: OAuthSettings, times?: KeyTimes): AccessCheck {
  const findKeys = createIssuerKeys(oauth, times);
  return async (token, audiences) => {
    const fault = headerFault(token);
    // Before the keys are asked for: rubbish fetches nothing.
    if (fault !== null) return { kind: 'wrong', reason: fault };
    const found = await findKeys();
    if (!found.ok) return { kind: 'unavailable', reason: found.detail };
    const verified = await verify(token, { keys: found.keys, issuer: oauth.issuer, audiences });
    if (verified.kind !== 'verified') return verified;
    const claims = readAccessClaims(verified.payload, oauth.subjectPrefix);
    if (!claims.ok) return { kind: 'wrong', reason: claims.reason };
    return { kind: 'accepted', requester: claims.requester, scopes: claims.scopes };
  };
}

interface Expected {
  readonly keys: RemoteJWKSet;
  readonly issuer: string;
  readonly audiences: readonly string[];
}

type Verified =
  { readonly kind: 'verified'; readonly payload: JWTPayload } | Exclude<AccessVerdict, { readonly kind: 'accepted' }>;

async function verify(token: string, { keys, issuer, audiences }: Expected): Promise<Verified> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: ALGORITHMS,
      issuer,
      audience: [...audiences],
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['iss', 'aud', 'sub', 'exp'],
    });
    return { kind: 'verified', payload };
  } catch (error) {
    const code = memberOf(error, 'code');
    if (typeof code !== 'string' || !TOKEN_FAULTS.has(code)) return { kind: 'unavailable', reason: reasonOf(error) };
    const claim = memberOf(error, 'claim');
    return { kind: 'wrong', reason: typeof claim === 'string' ? `${code} ${claim}` : code };
  }
}

function headerFault(token: string): string | null {
  try {
    const { alg = '', typ = '' } = decodeProtectedHeader(token);
    if (!ALGORITHMS.includes(alg)) return 'the algorithm is not one that counts';
    return TYPES.includes(typ.toLowerCase()) ? null : 'the type is not that of an access token';
  } catch {
    return 'it is no JWT';
  }
}
