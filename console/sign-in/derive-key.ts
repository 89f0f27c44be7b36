import { hkdfSync } from 'node:crypto';

/** 32 bytes of their own for each purpose, so that what one of them makes says nothing of another. */
export function deriveKey(key: Uint8Array, purpose: 'seals' | 'form-tokens'): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', `holdpoint/console-${purpose}/1`, 32));
}
