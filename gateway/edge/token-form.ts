import { createHash, randomBytes } from 'node:crypto';

const FORM = /^hp_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;

/** Whether a text has the form of a local token: `hp_` and 43 characters of base64url. */
export function isTokenForm(text: string): boolean {
  return FORM.test(text);
}

/** A new local token: 256 random bits, so that one plain hash keeps it. */
export function makeToken(): string {
  return `hp_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

/** What a file keeps of a token. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
