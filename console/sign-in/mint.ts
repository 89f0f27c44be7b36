import { randomBytes } from 'node:crypto';
import { createSeals } from './sealed';

/** Makes what lets a person in, for whoever holds the console's key: nothing is asked of the policy or the console. */
export interface Mint {
  /** The `code` of a link `<console>/sign-in/link?code=…`, which signs in once. */
  mintLink(person: string, forMs: number): Promise<string>;
  /** A bearer token for the console's API. */
  mintToken(person: string, forMs: number): Promise<string>;
}

/**
 * @param key the 32 bytes of the console's key file.
 * @param nowMs epoch milliseconds.
 */
export function createMint(key: Uint8Array, nowMs: () => number = Date.now): Mint {
  const seals = createSeals(key, nowMs);
  return {
    mintLink: (person, forMs) => seals.sealPerson('link', person, forMs),
    mintToken: (person, forMs) => seals.sealPerson('api', person, forMs),
  };
}

/** What the key file of a new console holds: 32 random bytes in base64url. */
export function newSealKey(): string {
  return randomBytes(32).toString('base64url');
}
