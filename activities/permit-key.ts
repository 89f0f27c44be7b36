import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { calculateJwkThumbprint } from 'jose';
import { refusal } from '../core/errors';
import type { Refusal } from '../core/errors';
import { isJsonObject } from '../core/json';
import { parseJson } from './rpc';

/** The key that signs permits. `kid` is its thumbprint (RFC 7638). */
export interface PermitKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
}

// A type and not an interface, so that it is a JSON object too.
export type PublicJwk = PermitKey['publicJwk'] & { readonly kid: string; readonly alg: 'EdDSA'; readonly use: 'sig' };

export type LoadedPermitKey = { readonly ok: true; readonly key: PermitKey } | ({ readonly ok: false } & Refusal);

/** A new Ed25519 key, in memory only. */
export function generatePermitKey(): Promise<PermitKey> {
  return permitKeyOf(generateKeyPairSync('ed25519').privateKey);
}

/** Writes a key as PEM that only its owner can read; an existing file is never replaced. */
export async function savePermitKey(file: string, key: PermitKey): Promise<void> {
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(file, pem, { mode: 0o600, flag: 'wx' });
}

/** Reads a private Ed25519 key, as PEM (PKCS #8) or JWK, from a file that nobody but its owner can read. */
export async function loadPermitKey(file: string): Promise<LoadedPermitKey> {
  const unusable = (detail: string): LoadedPermitKey => ({ ok: false, ...refusal('PERMIT_KEY', { file, detail }) });
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return unusable('it cannot be read; create one or correct the path');
  const { mode } = await stat(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return unusable('others can read it; set its mode to 0600');
  const privateKey = readPrivateKey(text);
  if (privateKey === undefined) return unusable('it holds no private Ed25519 key in PEM or as a JWK');
  return { ok: true, key: await permitKeyOf(privateKey) };
}

/** The public keys for `/.well-known/jwks.json` (RFC 7517); old keys stay in it until their permits have expired. */
export function jwksOf(...keys: readonly PermitKey[]): { readonly keys: readonly PublicJwk[] } {
  return { keys: keys.map(({ kid, publicJwk }) => ({ ...publicJwk, kid, alg: 'EdDSA', use: 'sig' })) };
}

function readPrivateKey(text: string): KeyObject | undefined {
  try {
    const jwk = parseJson(text);
    const isJwk = jwk !== undefined && isJsonObject(jwk);
    const key = isJwk ? createPrivateKey({ key: { ...jwk }, format: 'jwk' }) : createPrivateKey(text);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

async function permitKeyOf(privateKey: KeyObject): Promise<PermitKey> {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const publicJwk = { kty: 'OKP', crv: 'Ed25519', x } as const;
  return { kid: await calculateJwkThumbprint(publicJwk), privateKey, publicJwk };
}
