import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CliFailure } from './failure';
import type { Io } from './io';
import type { Place } from './place';
import { safe } from './text';

export const PERMIT_KEY_FILE = join('keys', 'permit.pem');

/** The keys whose checkpoints count: those that are given, else the worker's own where this process may read it. */
export async function publicKeys(io: Io, place: Place | null, given: readonly string[]): Promise<readonly KeyObject[]> {
  const names = given.length > 0 ? given : ownKey(io, place);
  return Promise.all(names.map((name) => publicKey(io, name)));
}

function ownKey({ env }: Io, place: Place | null): readonly string[] {
  const named = env['HOLDPOINT_PERMIT_KEY_FILE'] ?? '';
  const dev = place?.kind === 'dev' ? join(place.stateDir, PERMIT_KEY_FILE) : '';
  return [dev, named].filter((file) => file !== '' && existsSync(file)).slice(0, 1);
}

/** `ed25519:…`, or a file with a public or private key in PEM. */
async function publicKey({ cwd }: Io, name: string): Promise<KeyObject> {
  const x = /^ed25519:([A-Za-z0-9_-]{43})$/.exec(name)?.[1];
  const pem = x === undefined ? await readFile(resolve(cwd, name), 'utf8').catch(() => null) : null;
  if (x === undefined && pem === null)
    throw new CliFailure(
      'notFound',
      `The key ${safe(name)} cannot be read.`,
      'Give ed25519:…, or a file with the key in PEM.',
    );
  try {
    if (x !== undefined) return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return pem?.includes('PRIVATE') === true ? createPublicKey(createPrivateKey(pem)) : createPublicKey(pem ?? '');
  } catch {
    throw new CliFailure(
      'refused',
      `${safe(name)} is no Ed25519 key.`,
      'Give ed25519:…, or a file with the key in PEM.',
    );
  }
}
