import { createRemoteJWKSet } from 'jose';
import type { RemoteJWKSet } from 'jose';
import { memberOf } from '../../core/member';
import { reasonOf } from '../../ledger/ledger-error';
import { readTrustedUrl } from '../../web/setting-values';
import type { OAuthSettings } from './settings';

/** The issuer's keys, or why there are none now. */
export type FoundKeys =
  { readonly ok: true; readonly keys: RemoteJWKSet } | { readonly ok: false; readonly detail: string };

export interface KeyTimes {
  /** How long keys count: an issuer that is away longer than this lets nobody in. */
  readonly cacheMs: number;
  /** Between two fetches for the sake of a key that is not known, and after one that failed. */
  readonly cooldownMs: number;
  /** Of one search for the issuer's metadata, and of one fetch of its keys. */
  readonly timeoutMs: number;
}

export const KEY_TIMES: KeyTimes = { cacheMs: 600_000, cooldownMs: 10_000, timeoutMs: 5_000 };

/** Finds the keys of an issuer and keeps them; however many ask at once, it is asked once. Never throws. */
export function createIssuerKeys(oauth: OAuthSettings, times: KeyTimes = KEY_TIMES): () => Promise<FoundKeys> {
  let known: RemoteJWKSet | null = null;
  let failed: { readonly detail: string; readonly untilMs: number } | null = null;
  let loading: Promise<FoundKeys> | null = null;
  const load = async (): Promise<FoundKeys> => {
    const found = await loadKeys(oauth, times);
    if (found.ok) known = found.keys;
    failed = found.ok ? null : { detail: found.detail, untilMs: performance.now() + times.cooldownMs };
    loading = null;
    return found;
  };
  return async () => {
    if (known?.fresh === true) return { ok: true, keys: known };
    if (failed !== null && performance.now() < failed.untilMs) return { ok: false, detail: failed.detail };
    loading ??= load();
    return loading;
  };
}

async function loadKeys(oauth: OAuthSettings, times: KeyTimes): Promise<FoundKeys> {
  try {
    const address = oauth.jwksUrl ?? (await discoverJwksUrl(oauth.issuer, times.timeoutMs));
    if (address === null) return { ok: false, detail: 'no metadata of the issuer name its keys' };
    const keys = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: times.cacheMs,
      cooldownDuration: times.cooldownMs,
      timeoutDuration: times.timeoutMs,
    });
    await keys.reload();
    return { ok: true, keys };
  } catch (error) {
    return { ok: false, detail: `the keys of the issuer cannot be fetched: ${reasonOf(error)}` };
  }
}

/** By RFC 8414, then by OpenID Connect Discovery. Metadata that name another issuer are somebody else's. */
async function discoverJwksUrl(issuer: string, timeoutMs: number): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  for (const url of metadataUrls(issuer)) {
    const metadata = await fetchJson(url, signal);
    const jwksUri = memberOf(metadata, 'jwks_uri');
    if (memberOf(metadata, 'issuer') !== issuer || typeof jwksUri !== 'string') continue;
    if ('value' in readTrustedUrl('jwks_uri', jwksUri)) return jwksUri;
  }
  return null;
}

function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { redirect: 'manual', headers: { accept: 'application/json' }, signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    return null;
  }
  return response.json().catch(() => null);
}
