import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, createRemoteJWKSet } from 'jose';
import type { CompactJWSHeaderParameters, CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWK } from 'jose';

/** The public keys of those whose permits count: a JWK set, its address, or a file that holds it. */
export type PermitKeys = { readonly keys: readonly JWK[] } | URL | string;

export type KeyLookUp = (header: CompactJWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const remotes = new Map<string, KeyLookUp>();

/**
 * Finds keys by their id. An address is fetched when a permit needs it and kept for 10 minutes; an id that is not in
 * it is looked for again, at most every 30 s. A text that begins with http:// or https:// is an address too.
 */
export async function keyLookUp(keys: PermitKeys): Promise<KeyLookUp> {
  if (keys instanceof URL) return remote(keys);
  if (typeof keys !== 'string') return createLocalJWKSet({ keys: [...keys.keys] });
  if (/^https?:\/\//i.test(keys)) return remote(new URL(keys));
  const value: unknown = JSON.parse(await readFile(keys, 'utf8'));
  if (!isKeySet(value)) throw new Error('the file holds no JWK set');
  return createLocalJWKSet(value);
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys);
}

function remote(url: URL): KeyLookUp {
  const known = remotes.get(url.href);
  if (known !== undefined) return known;
  const found = createRemoteJWKSet(url);
  remotes.set(url.href, found);
  return found;
}
