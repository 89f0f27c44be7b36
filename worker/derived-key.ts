import { hkdfSync } from 'node:crypto';
import type { PermitKey } from '../activities/permit-key';

/** Own bytes for another purpose: a token for a secret, or for a session, must not help with a permit. */
function derivedKey({ privateKey }: PermitKey, purpose: string): Uint8Array {
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  return new Uint8Array(hkdfSync('sha256', seed, '', `holdpoint/${purpose}/1`, 32));
}

/** What keys the tokens that stand for secrets, where no key of its own is set. */
export function secretsKeyFrom(key: PermitKey): Uint8Array {
  return derivedKey(key, 'secrets');
}

/** What seals the ids of a gateway's sessions: the same in every gateway of one permit key. */
export function sessionKeyFrom(key: PermitKey): Uint8Array {
  return derivedKey(key, 'gateway-sessions');
}
