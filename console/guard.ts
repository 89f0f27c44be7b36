import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler, Next } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { cut, showText } from '../core/display';
import type { Log } from '../ledger/log';
import { checkHost } from '../web/host-check';
import { formField } from './form-field';
import { GUARD_REFUSALS } from './guard-refusals';
import type { GuardRefusal } from './guard-refusals';
import { ownOrigin } from './own-origin';
import { layout, type Html } from './pages/layout';
import { messagePage } from './pages/message-page';
import { writtenIn } from './pages/written';
import { setSecurityHeaders } from './security-headers';
import type { Identified, Viewer } from './ports';
import type { ConsoleSettings } from './settings';
import type { SignIn } from './sign-in/sign-in';

export interface GuardDeps {
  readonly settings: Pick<ConsoleSettings, 'host' | 'publicUrl' | 'hosts' | 'origins'>;
  readonly signIn: Pick<SignIn, 'identifySession' | 'checkCsrf' | 'csrfOf'>;
  /** Who is signed in, as the active policy knows them now. */
  viewerOf(identified: Identified): Promise<Viewer | null>;
  readonly log: Log;
}

interface GuardEnv {
  readonly Bindings: HttpBindings;
}

const MAX_FORM_BYTES = 65_536;
const LONGEST_FOUND = 200;

interface Refused {
  readonly refusal: GuardRefusal;
  /** What was refused, for the log: shortened, and with nothing hidden in it. */
  readonly found?: string;
  /** What somebody wrote in a form. */
  readonly written?: Html | null;
}

/**
 * What stands before everything that the console answers: it was asked by a name of its own and by no foreign page,
 * what a form says comes from a page of this session, and every answer carries the security headers. The API is asked
 * by bearer tokens and knows no cookies, so form tokens are nothing to it; it reads its bodies itself.
 */
export function createGuard(deps: GuardDeps): MiddlewareHandler<GuardEnv> {
  const isHttps = deps.settings.publicUrl?.startsWith('https:') === true;
  const tooLong = { refusal: GUARD_REFUSALS.tooLong };
  const limited = bodyLimit({ maxSize: MAX_FORM_BYTES, onError: (c) => refuse(deps, c, tooLong) });
  return async (c, next) => {
    const refused = strangerRefused(deps, c);
    if (refused !== null) c.res = await refuse(deps, c, refused);
    else if (!isForm(c)) await next();
    else {
      const answered = await limited(c, () => takeForm(deps, c, next));
      if (answered !== undefined) c.res = answered;
    }
    setSecurityHeaders(c, isHttps);
  };
}

function isForm({ req: { method, path } }: Context): boolean {
  return method !== 'GET' && method !== 'HEAD' && !path.startsWith('/api/');
}

async function takeForm(deps: GuardDeps, c: Context<GuardEnv>, next: Next): Promise<void> {
  const refused = await formRefused(deps, c);
  if (refused === null) {
    await next();
    return;
  }
  // Words come back to a page of this console only, never to a foreign one that sent them.
  const isOwn = refused.refusal !== GUARD_REFUSALS.origin;
  c.res = await refuse(deps, c, { ...refused, written: isOwn ? await writtenIn(c) : null });
}

function strangerRefused({ settings }: GuardDeps, c: Context<GuardEnv>): Refused | null {
  const checked = checkHost(settings, c.env.incoming);
  if (checked.ok) return null;
  const { reason, found } = checked;
  return { refusal: GUARD_REFUSALS[reason], found };
}

async function formRefused({ settings, signIn }: GuardDeps, c: Context<GuardEnv>): Promise<Refused | null> {
  const origin = c.req.header('origin');
  const isOwn =
    origin === undefined
      ? c.req.header('sec-fetch-site') === 'same-origin'
      : origin.toLowerCase() === ownOrigin(settings, c.env.incoming);
  if (!isOwn) return { refusal: GUARD_REFUSALS.origin, found: showText(cut(origin ?? 'none', LONGEST_FOUND)) };
  // Nobody is signed in there yet: the link's code is what its form has to know.
  if (c.req.path === '/sign-in/link') return null;
  const session = await signIn.identifySession(c.req.header('cookie'));
  if (session === null) return { refusal: GUARD_REFUSALS.signedOut };
  const isRight = signIn.checkCsrf(session.sessionId, await formField(c, 'csrf'));
  return isRight ? null : { refusal: GUARD_REFUSALS.form };
}

/** In the frame of whoever is signed in: a refusal signs nobody out, and should not look as if it did. */
async function refusedPage(deps: GuardDeps, c: Context, { refusal, written = null }: Refused): Promise<Html> {
  const viewer = await viewerAt(deps, c, refusal);
  const page = pageOf(c.req.path);
  const way =
    viewer === null
      ? html`<a href="/sign-in?to=${encodeURIComponent(page)}">Sign in</a>`
      : html`<a href="${page}">Open its page</a>`;
  const body = messagePage({
    ...refusal,
    more: html`<p>${way}</p>
      ${written}`,
  });
  const csrf = viewer === null ? null : deps.signIn.csrfOf(viewer.sessionId);
  return layout({ title: refusal.title, viewer, csrf, body });
}

/** Under a foreign name nobody is told who they are; and where the ledger is away, nobody can be. */
async function viewerAt(deps: GuardDeps, c: Context, refusal: GuardRefusal): Promise<Viewer | null> {
  if (refusal === GUARD_REFUSALS.host) return null;
  const session = await deps.signIn.identifySession(c.req.header('cookie'));
  return session === null ? null : deps.viewerOf(session).catch(() => null);
}

/** The page on which a form was. */
function pageOf(path: string): string {
  return (
    /^\/(?:(?:requests|operations)\/\w{1,64}|(?:grants|retrospectives|second-reviews)(?=\/))/.exec(path)?.[0] ?? '/'
  );
}

async function refuse(deps: GuardDeps, c: Context, refused: Refused): Promise<Response> {
  const { refusal, found } = refused;
  const { status, code, title, happened, recorded, next } = refusal;
  deps.log.info({ status, code, ...(found === undefined ? {} : { found }) }, 'console.refused');
  if (!c.req.path.startsWith('/api/')) return c.html(await refusedPage(deps, c, refused), status);
  const detail = `${happened} ${recorded} ${next}`;
  return c.body(
    JSON.stringify({ type: `tag:holdpoint.dev,2026:problem/${code}`, title, status, code, detail }),
    status,
    {
      'content-type': 'application/problem+json',
    },
  );
}
