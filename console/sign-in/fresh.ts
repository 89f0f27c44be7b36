import type { Context } from 'hono';
import type { SignInFact } from '../../core/decision';
import { AUTHENTICATION_CLASS, POLICY_LIMITS } from '../../core/policy-limits';
import { SIGN_IN_SKEW_MS } from '../../core/sign-in';

/** A sign-in that has to be made anew: the authentication classes that it takes; none: any. */
export interface Fresh {
  readonly acr: readonly string[];
}

/** What an address says of it; null where any sign-in will do. Whether a sign-in is enough is for the ledger to say. */
export function freshIn(c: Context): Fresh | null {
  if (c.req.query('fresh') !== '1') return null;
  const acr = (c.req.query('acr') ?? '').split(' ').filter((value) => AUTHENTICATION_CLASS.test(value));
  return { acr: acr.slice(0, POLICY_LIMITS.signInClasses) };
}

/** The query of an address that leads to a sign-in and on to `to`. */
export function freshQuery({ to, fresh }: { readonly to: string; readonly fresh: Fresh | null }): string {
  const acr = fresh === null || fresh.acr.length === 0 ? {} : { acr: fresh.acr.join(' ') };
  return new URLSearchParams({ to, ...(fresh !== null && { fresh: '1', ...acr }) }).toString();
}

/**
 * Why a sign-in that was asked to be a new one is none, for the log; null where it is. Not every provider does what it is
 * asked: only what its ID token says counts (OpenID Connect Core, section 3.1.2.1).
 */
export function staleness(
  { acr }: Fresh,
  signIn: SignInFact | undefined,
  { begunAtMs, nowMs }: { readonly begunAtMs: number; readonly nowMs: number },
): string | null {
  if (signIn === undefined) return 'the ID token has no auth_time';
  if (signIn.atMs < begunAtMs - SIGN_IN_SKEW_MS) return 'the auth_time is that of an earlier sign-in';
  if (signIn.atMs > nowMs + SIGN_IN_SKEW_MS) return 'the auth_time is in the future';
  return acr.length === 0 || (signIn.acr !== undefined && acr.includes(signIn.acr))
    ? null
    : 'the acr is none of those that were asked for';
}
