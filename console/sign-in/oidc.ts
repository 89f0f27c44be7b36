import { isNativeError } from 'node:util/types';
import * as client from 'openid-client';
import type { SignInFact } from '../../core/decision';
import { memberOf } from '../../core/member';
import { AUTHENTICATION_CLASS } from '../../core/policy-limits';
import { reasonOf } from '../../ledger/ledger-error';
import type { OidcSettings } from '../settings';
import type { Fresh } from './fresh';

/** `url` is where the browser goes; the rest is what its answer is checked against. */
export interface BegunSignIn {
  readonly url: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** `reason` is for the log, and may hold words of the provider. `unavailable`: the provider does not answer. */
export type Failed = { readonly ok: false; readonly kind: 'refused' | 'unavailable'; readonly reason: string };
export type Begun = { readonly ok: true; readonly begun: BegunSignIn } | Failed;
/**
 * `claim` is what the provider calls them, by the claim of the settings; `signIn` when and by which class they proved who
 * they are, where the ID token says when.
 */
export type Ended = { readonly ok: true; readonly claim: string; readonly signIn?: SignInFact } | Failed;

/** The sign-in at an OpenID provider: the code flow with PKCE, state and nonce. Never throws. */
export interface Oidc {
  /** @param fresh asks for a new sign-in; whether it is one is told by `staleness` of its end. */
  begin(redirectUri: string, fresh: Fresh | null): Promise<Begun>;
  /** @param answer the redirect URI with the query that came to it. */
  end(answer: URL, begun: Omit<BegunSignIn, 'url'>): Promise<Ended>;
}

const TIMEOUT_S = 5;

export function createOidc(settings: OidcSettings): Oidc {
  const find = providerOf(settings);
  return {
    begin: (redirectUri, fresh) =>
      failing(async () => ({ ok: true, begun: await begin(await find(), settings, { redirectUri, fresh }) })),
    end: (answer, { state, nonce, verifier }) =>
      failing(async () => {
        const provider = await find();
        const tokens = await client.authorizationCodeGrant(provider, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const ended = readClaim(settings.claim, await claimsOf(provider, settings.claim, tokens));
        const signIn = signInOf(tokens);
        return ended.ok && signIn !== null ? { ...ended, signIn } : ended;
      }),
  };
}

/** Asks the provider for its metadata once they are needed, and again after it did not answer. */
function providerOf({ issuer, clientId, clientSecret }: OidcSettings): () => Promise<client.Configuration> {
  let found: Promise<client.Configuration> | null = null;
  const isPlain = new URL(issuer).protocol === 'http:';
  const execute = [
    client.enableNonRepudiationChecks,
    // Only on a loopback address: the settings take no other.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    ...(isPlain ? [client.allowInsecureRequests] : []),
  ];
  return () => {
    found ??= client
      .discovery(new URL(issuer), clientId, undefined, authBy(clientSecret), { execute, timeout: TIMEOUT_S })
      .catch((error: unknown) => {
        found = null;
        throw error;
      });
    return found;
  };
}

/** By the header, as every provider has to take it, unless it says that it does not (RFC 6749, section 2.3.1). */
function authBy(secret: string | null): client.ClientAuth {
  if (secret === null) return client.None();
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...more) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...more);
  };
}

async function begin(
  provider: client.Configuration,
  { scopes }: OidcSettings,
  { redirectUri, fresh }: { readonly redirectUri: string; readonly fresh: Fresh | null },
): Promise<BegunSignIn> {
  const verifier = client.randomPKCECodeVerifier();
  const [state, nonce] = [client.randomState(), client.randomNonce()];
  const url = client.buildAuthorizationUrl(provider, {
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(fresh !== null && { prompt: 'login', max_age: '0' }),
    ...(fresh !== null && fresh.acr.length > 0 && { acr_values: fresh.acr.join(' ') }),
  });
  return { url: url.href, state, nonce, verifier };
}

type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

/** Claims of the ID token; many providers tell the address of a person only at their user info. */
async function claimsOf(provider: client.Configuration, claim: string, tokens: Tokens): Promise<unknown> {
  const claims = tokens.claims();
  const told = memberOf(claims, claim) !== undefined;
  if (claims === undefined || told || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
  return client.fetchUserInfo(provider, tokens.access_token, claims.sub);
}

/** Of the ID token alone, which the provider signed. A class that no rule can name is none. */
function signInOf(tokens: Tokens): SignInFact | null {
  const claims = tokens.claims();
  const [authTime, acr] = [claims?.auth_time, memberOf(claims, 'acr')];
  if (authTime === undefined) return null;
  const isClass = typeof acr === 'string' && AUTHENTICATION_CLASS.test(acr);
  return { atMs: Math.floor(authTime * 1_000), ...(isClass && { acr }) };
}

function readClaim(name: string, claims: unknown): Ended {
  const claim = memberOf(claims, name);
  if (typeof claim !== 'string' || claim === '') return refused(`the claim ${name} is no text`);
  // An address that the provider did not check could be anybody's. Some say nothing of it.
  const verified = memberOf(claims, 'email_verified') ?? true;
  if (name === 'email' && verified !== true && verified !== 'true')
    return refused('the e-mail address is not verified');
  return { ok: true, claim };
}

function refused(reason: string): Failed {
  return { ok: false, kind: 'refused', reason };
}

async function failing<T>(attempt: () => Promise<T | Failed>): Promise<T | Failed> {
  try {
    return await attempt();
  } catch (error) {
    return { ok: false, kind: isAway(error) ? 'unavailable' : 'refused', reason: reasonsOf(error) };
  }
}

const AWAY_CODES: readonly unknown[] = [
  ...['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR'],
];

function isAway(error: unknown): boolean {
  if (AWAY_CODES.includes(memberOf(error, 'code'))) return true;
  return isNativeError(error) && error.name === 'TypeError' && error.message === 'fetch failed';
}

/** What went wrong, and why: the library says the rule in the cause. */
function reasonsOf(error: unknown): string {
  const cause = memberOf(error, 'cause');
  const more = [memberOf(error, 'code'), memberOf(error, 'error'), isNativeError(cause) ? reasonOf(cause) : undefined];
  return [reasonOf(error), ...more.filter((part) => typeof part === 'string')].join(': ');
}
