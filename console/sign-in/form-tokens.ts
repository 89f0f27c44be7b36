import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './derive-key';

/** What every form of a session carries, so that only a page of the console can have made it. */
export interface FormTokens {
  readonly csrfOf: (sessionId: string) => string;
  /** In a time that does not tell how much of it is right. Never throws, whatever is given. */
  readonly checkCsrf: (sessionId: string, given: unknown) => boolean;
}

export function createFormTokens(key: Uint8Array): FormTokens {
  const formKey = deriveKey(key, 'form-tokens');
  const digestOf = (sessionId: string): Buffer => createHmac('sha256', formKey).update(sessionId).digest();
  return {
    csrfOf: (sessionId) => digestOf(sessionId).toString('base64url'),
    checkCsrf: (sessionId, given) => {
      const right = digestOf(sessionId).toString('base64url');
      // The length of a right one is no secret.
      if (typeof given !== 'string' || !/^[\w-]+$/.test(given) || given.length !== right.length) return false;
      return timingSafeEqual(Buffer.from(given), Buffer.from(right));
    },
  };
}
