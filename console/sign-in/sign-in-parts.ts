import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { SignInFact } from '../../core/decision';
import { cut, showText } from '../../core/display';
import type { Log } from '../../ledger/log';
import { layout } from '../pages/layout';
import type { ConsoleSettings } from '../settings';
import type { Attempts } from './attempts';
import type { Cookies } from './cookies';
import type { Seals } from './sealed';
import { ownPath } from './own-path';
import { notSignedInPage } from './sign-in-pages';
import type { SignInPage } from './sign-in-pages';
import type { SpentIds } from './spent-ids';

export interface SignInEnv {
  readonly Bindings: HttpBindings;
}

/** What the ways to sign in share. */
export interface SignInParts {
  readonly settings: ConsoleSettings;
  readonly log: Log;
  readonly seals: Seals;
  readonly cookies: Cookies;
  readonly spent: SpentIds;
  readonly attempts: Attempts;
  /** Epoch milliseconds. */
  nowMs(): number;
  /** The name in `people` of the active policy that this name, or subject, is; null where there is none. */
  personNamed(claim: string): Promise<string | null>;
}

export type Way = 'link' | 'oidc';

const LONGEST_REASON = 200;

/** Whose session begins, and where it leads. */
export interface Entering {
  readonly person: string;
  readonly by: Way;
  readonly to: string;
  /** When they proved who they are, as far as that is known. */
  readonly signIn?: SignInFact;
}

/** Begins a session and leads on. */
export async function enter(
  { settings, seals, cookies, log }: SignInParts,
  c: Context<SignInEnv>,
  { by, to, ...session }: Entering,
): Promise<Response> {
  const { sessionMs } = settings;
  const { person } = session;
  const value = await seals.sealSession(session, sessionMs);
  cookies.set(c, 'holdpoint_session', { value, forMs: sessionMs });
  log.info({ person, by }, 'console.signedIn');
  return c.redirect(to, 303);
}

export function answer(
  c: Context,
  { title, body }: SignInPage,
  status: ContentfulStatusCode = 200,
): Response | Promise<Response> {
  return c.html(layout({ title, viewer: null, csrf: null, body }), status);
}

/** A sign-in that came to nothing. `reason` goes to the log alone. */
export interface NotEntered {
  readonly by: Way;
  readonly status: 403 | 429 | 503;
  readonly reason: string;
  readonly page: SignInPage;
}

/** Says so on a page, and in the log why. */
export function turnAway({ log }: SignInParts, c: Context, away: NotEntered): Response | Promise<Response> {
  const { by, status, reason, page } = away;
  const fields = { by, status, reason: showText(cut(reason, LONGEST_REASON)) };
  if (status === 503) log.error(fields, 'console.notSignedIn');
  else log.info(fields, 'console.notSignedIn');
  return answer(c, page, status);
}

/** Null where the attempt may go on. */
export function tooManyAttempts(
  parts: SignInParts,
  c: Context<SignInEnv>,
  by: Way,
): Response | Promise<Response> | null {
  if (parts.attempts(c.env.incoming.socket.remoteAddress ?? '')) return null;
  const page = notSignedInPage({
    happened: 'There were too many sign-ins from this address.',
    next: 'Try again in a minute.',
    to: ownPath(c.req.query('to')),
  });
  c.header('Retry-After', '60');
  return turnAway(parts, c, { by, status: 429, reason: 'too many attempts', page });
}
