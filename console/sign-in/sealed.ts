import { randomUUID } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { SignInFact } from '../../core/decision';
import { deriveKey } from './derive-key';

/** What a statement about a person is for; one for a purpose never opens for another. */
export type Purpose = 'session' | 'link' | 'api';

const life = {
  v: z.literal(1),
  /** Random; never a secret. */
  id: z.string(),
  issuedAtMs: z.int(),
  /** The first moment at which it no longer counts. */
  expiresAtMs: z.int(),
};
const personal = z.strictObject({
  ...life,
  purpose: z.enum(['session', 'link', 'api']),
  person: z.string(),
  /** Of a session: when, and by which class, its person proved who they are; left out where nobody said so. */
  signIn: z.strictObject({ atMs: z.int(), acr: z.string().exactOptional() }).exactOptional(),
});
const start = z.strictObject({
  ...life,
  purpose: z.literal('oidc'),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  to: z.string(),
  /** Of a sign-in that has to be a new one: the classes that it takes; none: any. */
  fresh: z.strictObject({ acr: z.array(z.string()).readonly() }).exactOptional(),
});

/** That the bearer is `person`, for one purpose. */
export type PersonStatement = Readonly<z.infer<typeof personal>>;
/** What a sign-in at the OpenID provider was begun with: only the same browser can end it. */
export type StartStatement = Readonly<z.infer<typeof start>>;

/** Seals statements, so that nobody without the key reads, makes or alters one, and opens them again. */
export interface Seals {
  sealPerson(purpose: Purpose, person: string, forMs: number): Promise<string>;
  sealSession(content: { readonly person: string; readonly signIn?: SignInFact }, forMs: number): Promise<string>;
  sealStart(content: Omit<StartStatement, keyof typeof life | 'purpose'>, forMs: number): Promise<string>;
  /** Null for whatever is not a whole, unexpired statement of this purpose under this key. Never throws. */
  openPerson(purpose: Purpose, text: string): Promise<PersonStatement | null>;
  /** As `openPerson`. */
  openStart(text: string): Promise<StartStatement | null>;
}

const LONGEST_TEXT = 4_096;

/**
 * @param key the 32 bytes of the console's key file.
 * @param nowMs epoch milliseconds.
 */
export function createSeals(key: Uint8Array, nowMs: () => number = Date.now): Seals {
  const seal = deriveKey(key, 'seals');
  const newLife = (forMs: number): Pick<PersonStatement, keyof typeof life> => {
    const issuedAtMs = nowMs();
    return { v: 1, id: randomUUID(), issuedAtMs, expiresAtMs: issuedAtMs + forMs };
  };
  const isAlive = ({ expiresAtMs }: { readonly expiresAtMs: number }): boolean => nowMs() < expiresAtMs;
  return {
    sealPerson: (purpose, person, forMs) => encrypt(seal, { ...newLife(forMs), purpose, person }),
    sealSession: (content, forMs) => encrypt(seal, { ...newLife(forMs), purpose: 'session', ...content }),
    sealStart: (content, forMs) => encrypt(seal, { ...newLife(forMs), purpose: 'oidc', ...content }),
    openPerson: async (purpose, text) => {
      const { data } = personal.safeParse(await decrypt(seal, text));
      return data?.purpose === purpose && isAlive(data) ? data : null;
    },
    openStart: async (text) => {
      const { data } = start.safeParse(await decrypt(seal, text));
      return data !== undefined && isAlive(data) ? data : null;
    },
  };
}

function encrypt(seal: Uint8Array, statement: PersonStatement | StartStatement): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(statement)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(seal);
}

async function decrypt(seal: Uint8Array, text: string): Promise<unknown> {
  if (text.length > LONGEST_TEXT || !isCanonical(text)) return null;
  try {
    const { plaintext } = await compactDecrypt(text, seal, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return JSON.parse(Buffer.from(plaintext).toString('utf8'));
  } catch {
    return null;
  }
}

/** Whether each part is written in the one way in which base64url writes it: otherwise one seal had several texts. */
function isCanonical(text: string): boolean {
  return text.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}
