import { Hono } from 'hono';
import type { Log } from '../../ledger/log';
import type { Identified } from '../ports';
import type { ConsoleSettings } from '../settings';
import { createAttempts } from './attempts';
import { createCookies } from './cookies';
import { createFormTokens } from './form-tokens';
import type { FormTokens } from './form-tokens';
import { addLinkRoutes } from './link-routes';
import { addOidcRoutes } from './oidc-routes';
import { freshIn } from './fresh';
import { ownPath } from './own-path';
import { createSeals } from './sealed';
import type { PersonStatement } from './sealed';
import { waysPage } from './sign-in-pages';
import { answer } from './sign-in-parts';
import type { SignInEnv, SignInParts } from './sign-in-parts';
import { createSpentIds } from './spent-ids';

export interface SignInDeps {
  readonly settings: ConsoleSettings;
  /** The name in `people` of the active policy that this name, or subject, is; null where there is none. */
  personNamed(claim: string): Promise<string | null>;
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * Who somebody is. Whether the policy still lists them is not known here: it has to be asked of the active policy at
 * each request.
 */
export interface SignIn extends FormTokens {
  /** Under `/sign-in` and `/sign-out`, behind the guard; nobody has to be signed in. */
  readonly routes: Hono<SignInEnv>;
  /** Tells of each session that is signed out here, by its id; answers how to stop. */
  onSignOut(listener: (sessionId: string) => void): () => void;
  /** By the session's cookie, for pages. Null for whatever is not a session that counts. Never throws. */
  identifySession(cookieHeader: string | undefined): Promise<Identified | null>;
  /** By a bearer token, for the API. Null for whatever is not a token of this API. Never throws. */
  identifyToken(authorizationHeader: string | undefined): Promise<Identified | null>;
}

/** Attempts of one address within a minute; behind a proxy all people have one. */
const ATTEMPTS_PER_MINUTE = 120;
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export function createSignIn(deps: SignInDeps): SignIn {
  const { settings, nowMs = Date.now } = deps;
  const parts: SignInParts = {
    ...{ ...deps, nowMs },
    personNamed: (claim) => deps.personNamed(claim),
    seals: createSeals(settings.key, nowMs),
    cookies: createCookies(settings),
    spent: createSpentIds(nowMs),
    attempts: createAttempts(ATTEMPTS_PER_MINUTE, () => performance.now()),
  };
  const formTokens = createFormTokens(settings.key);
  const listeners = new Set<(sessionId: string) => void>();
  const signedOut = (sessionId: string): void => listeners.forEach((listener) => listener(sessionId));
  return {
    ...formTokens,
    routes: routesOf(parts, { ...formTokens, signedOut }),
    onSignOut: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    identifySession: async (header) => identified(await openSession(parts, header)),
    identifyToken: async (header = '') => {
      const [, token = ''] = BEARER.exec(header) ?? [];
      return identified(await parts.seals.openPerson('api', token));
    },
  };
}

async function openSession({ seals, cookies, spent }: SignInParts, header?: string): Promise<PersonStatement | null> {
  const session = await seals.openPerson('session', cookies.sessionIn(header) ?? '');
  return session === null || spent.isSpent(session.id) ? null : session;
}

function identified(statement: PersonStatement | null): Identified | null {
  if (statement === null) return null;
  const { person, id, issuedAtMs, signIn } = statement;
  return { person, sessionId: id, signedInAtMs: issuedAtMs, ...(signIn !== undefined && { signIn }) };
}

interface RouteParts extends Pick<FormTokens, 'csrfOf'> {
  readonly signedOut: (sessionId: string) => void;
}

function routesOf(parts: SignInParts, { csrfOf, signedOut }: RouteParts): Hono<SignInEnv> {
  const { settings, cookies, spent } = parts;
  const app = new Hono<SignInEnv>();
  app.get('/sign-in', async (c) => {
    const session = await openSession(parts, c.req.header('cookie'));
    const known = session === null ? null : { person: session.person, csrf: csrfOf(session.id) };
    const provider = settings.oidc === null ? null : new URL(settings.oidc.issuer).host;
    return answer(c, waysPage({ to: ownPath(c.req.query('to')), fresh: freshIn(c), provider, known }));
  });
  app.post('/sign-out', async (c) => {
    const session = await openSession(parts, c.req.header('cookie'));
    // Where somebody kept the cookie, it ends all the same.
    if (session !== null) {
      spent.spend(session);
      signedOut(session.id);
    }
    cookies.remove(c, 'holdpoint_session');
    return c.redirect('/sign-in', 303);
  });
  addLinkRoutes(app, parts);
  if (settings.oidc !== null) addOidcRoutes(app, parts, settings.oidc);
  return app;
}
