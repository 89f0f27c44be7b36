import type { Context, Hono } from 'hono';
import { publicOrigin } from '../../web/host-check';
import { ownOrigin } from '../own-origin';
import type { OidcSettings } from '../settings';
import { freshIn, freshQuery, staleness } from './fresh';
import { createOidc } from './oidc';
import type { Failed } from './oidc';
import { ownPath } from './own-path';
import { noPersonPage, notSignedInPage } from './sign-in-pages';
import { enter, tooManyAttempts, turnAway } from './sign-in-parts';
import type { SignInEnv, SignInParts } from './sign-in-parts';

const CALLBACK = '/sign-in/callback';
/** Long enough to find a password and a second factor. */
const START_MS = 600_000;

/** The sign-in at an OpenID provider; how it was begun stays with the browser, sealed. */
export function addOidcRoutes(app: Hono<SignInEnv>, parts: SignInParts, settings: OidcSettings): void {
  const { seals, cookies } = parts;
  const oidc = createOidc(settings);

  app.get('/sign-in/oidc', async (c) => {
    const [to, fresh] = [ownPath(c.req.query('to')), freshIn(c)];
    const origin = publicOrigin(parts.settings, c.env.incoming);
    // The provider leads back to the public origin, so the cookie has to be set there.
    if (ownOrigin(parts.settings, c.env.incoming) !== origin) {
      return c.redirect(`${origin}/sign-in/oidc?${freshQuery({ to, fresh })}`);
    }
    const refused = tooManyAttempts(parts, c, 'oidc');
    if (refused !== null) return refused;
    const begun = await oidc.begin(`${origin}${CALLBACK}`, fresh);
    if (!begun.ok) return failed(parts, c, { ...begun, to });
    const { url, ...checks } = begun.begun;
    const start = { ...checks, to, ...(fresh !== null && { fresh }) };
    cookies.set(c, 'holdpoint_sign_in', { value: await seals.sealStart(start, START_MS), forMs: START_MS });
    return c.redirect(url);
  });

  app.get(CALLBACK, async (c) => {
    // A program that looks ahead would use up the code.
    if (c.req.method === 'HEAD') return c.body(null, 405, { allow: 'GET' });
    const refused = tooManyAttempts(parts, c, 'oidc');
    if (refused !== null) return refused;
    const start = await seals.openStart(cookies.get(c, 'holdpoint_sign_in') ?? '');
    cookies.remove(c, 'holdpoint_sign_in');
    if (start === null)
      return failed(parts, c, { ok: false, kind: 'refused', reason: 'not begun in this browser', to: '/' });
    const answered = new URL(`${publicOrigin(parts.settings, c.env.incoming)}${CALLBACK}`);
    answered.search = new URL(c.req.url).search;
    const ended = await oidc.end(answered, start);
    if (!ended.ok) return failed(parts, c, { ...ended, to: start.to });
    const { signIn } = ended;
    const weak =
      start.fresh === undefined
        ? null
        : staleness(start.fresh, signIn, { begunAtMs: start.issuedAtMs, nowMs: parts.nowMs() });
    if (weak !== null) return notFresh(parts, c, { reason: weak, to: start.to });
    const person = await parts.personNamed(ended.claim);
    if (person !== null)
      return enter(parts, c, { person, by: 'oidc', to: start.to, ...(signIn !== undefined && { signIn }) });
    const page = noPersonPage(ended.claim, start.to);
    return turnAway(parts, c, { by: 'oidc', status: 403, reason: 'no such person', page });
  });
}

const REFUSED = {
  happened:
    'The sign-in at the provider did not come to its end: it was begun in another browser or too long ago, or the ' +
    'provider did not confirm who you are.',
  next: 'Begin again.',
};
const NOT_FRESH = {
  happened:
    'The provider was asked for a new sign-in, and answered with an earlier one, or with a weaker one than was asked for.',
  next: 'Sign out at the provider and begin again, or tell an operator: its client may have to be set up for it.',
};
const UNAVAILABLE = {
  happened: 'The sign-in provider does not answer.',
  next: 'Try again, or tell an operator.',
};

function notFresh(
  parts: SignInParts,
  c: Context,
  { reason, to }: { readonly reason: string; readonly to: string },
): Response | Promise<Response> {
  return turnAway(parts, c, { by: 'oidc', status: 403, reason, page: notSignedInPage({ ...NOT_FRESH, to }) });
}

function failed(
  parts: SignInParts,
  c: Context,
  { kind, reason, to }: Failed & { readonly to: string },
): Response | Promise<Response> {
  const page = notSignedInPage({ ...(kind === 'unavailable' ? UNAVAILABLE : REFUSED), to });
  return turnAway(parts, c, { by: 'oidc', status: kind === 'unavailable' ? 503 : 403, reason, page });
}
