import type { SignInFact } from './decision';
import { cut } from './display';
import type { SignatureCheck } from './judge-decision';
import type { SignInNeed } from './policy';
import { duration } from './words';

/** How far the clocks of the console, of its provider and of the ledger may be apart. */
export const SIGN_IN_SKEW_MS = 60_000;

const LONGEST_CLASS = 200;

/**
 * The strictest of what several rules ask of a sign-in: the shortest time, and of the authentication classes those that
 * each of them takes. Undefined where none asks; no class is left where no one sign-in can satisfy them all.
 */
export function strictestSignIn(needs: readonly (SignInNeed | undefined)[]): SignInNeed | undefined {
  return needs.reduce((a, b) => (a === undefined || b === undefined ? (a ?? b) : stricter(a, b)), undefined);
}

function stricter(a: SignInNeed, b: SignInNeed): SignInNeed {
  return { withinMs: Math.min(a.withinMs, b.withinMs), acr: shared(a.acr, b.acr) };
}

/** Null takes any class. */
function shared(a: SignInNeed['acr'], b: SignInNeed['acr']): SignInNeed['acr'] {
  if (a === null || b === null) return a ?? b;
  return a.filter((value) => b.includes(value));
}

/** Whether what was asked of the sign-ins then is at least what is asked now. */
export function signInCovers(granted: SignInNeed | undefined, now: SignInNeed | undefined): boolean {
  if (now === undefined) return true;
  if (granted === undefined || granted.withinMs > now.withinMs) return false;
  const { acr } = now;
  return acr === null || granted.acr?.every((value) => acr.includes(value)) === true;
}

function signInText({ withinMs, acr }: SignInNeed): string {
  const age = `a sign-in of the last ${duration(withinMs)}`;
  if (acr === null) return age;
  return acr.length === 1
    ? `${age}, by the authentication class ${acr.join()}`
    : `${age}, by one of the authentication classes ${acr.join(', ')}`;
}

/** What is asked of an allow, in a sentence for a card. */
export function signInNeedText(need: SignInNeed): string {
  return need.acr?.length === 0 ? NOBODY : `allowing needs ${signInText(need)}`;
}

const NOBODY = 'nobody can allow this: its rules ask for authentication classes that no one sign-in has';

/** Who gave a decision, by which proof; and what the console attests of their sign-in. */
export interface SignInProof {
  readonly signature: SignatureCheck;
  readonly signIn: SignInFact | undefined;
  /** When the decision is judged. */
  readonly nowMs: number;
}

/**
 * Why an allow does not satisfy what its rules ask of the sign-in, and what to do; null where it does. What a key of the
 * person's own signs was signed by somebody who has it: that is as good as a sign-in of that moment, and says nothing of
 * its class. Whatever is missing, dated ahead or not signed satisfies nothing.
 */
export function signInRefusal(need: SignInNeed | undefined, proof: SignInProof): string | null {
  if (need === undefined) return null;
  if (need.acr?.length === 0) return `${NOBODY}; deny it, or correct the policy`;
  const asks = signInNeedText(need);
  switch (proof.signature) {
    case 'valid':
      return need.acr === null ? null : `${asks}, which a personal key does not prove; allow it in the console`;
    case 'vouched':
      return attestedRefusal(need, proof, asks);
    default:
      return `${asks}, and an unsigned decision proves none; allow it in a console that signs${need.acr === null ? ', or sign it with a key of your own' : ''}`;
  }
}

function attestedRefusal({ withinMs, acr }: SignInNeed, { signIn, nowMs }: SignInProof, asks: string): string | null {
  if (signIn === undefined)
    return `${asks}, and the console attests none: an API token has none, and nor has a session whose provider did not say when; sign in to the console again and allow it there`;
  const ageMs = nowMs - signIn.atMs;
  if (!(ageMs >= -SIGN_IN_SKEW_MS))
    return `${asks}, and this one is dated ${duration(-ageMs)} ahead of the ledger's clock; correct the clocks, then sign in again`;
  if (!(ageMs <= withinMs)) return `${asks}, and this one is ${duration(ageMs)} old; sign in again`;
  if (acr === null || (signIn.acr !== undefined && acr.includes(signIn.acr))) return null;
  const found = signIn.acr === undefined ? 'states no class' : `is by ${cut(signIn.acr, LONGEST_CLASS)}`;
  return `${asks}, and this one ${found}; sign in again`;
}
