import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import { cut, showText } from '../core/display';
import { LedgerError } from '../ledger/ledger-error';
import type { Ledger } from '../ledger/ledger';
import type { Log } from '../ledger/log';
import { API_PATH, createApi, DOCUMENT_PATH } from './api/create-api';
import { failure } from './api/failure';
import { problem } from './api/problem';
import { createAssets } from './assets/create-assets';
import { createGuard } from './guard';
import { createLive } from './live/create-live';
import type { ResumableFeed } from './live/live-feed';
import { createMetrics } from './metrics/create-metrics';
import { createPages } from './pages/create-pages';
import { layout } from './pages/layout';
import { messagePage } from './pages/message-page';
import type { Env, Identified, Reviews, Viewer } from './ports';
import type { ConsoleSettings } from './settings';
import { createSignIn } from './sign-in/sign-in';
import { personNamed, viewerOf } from './viewer-of';

export interface AppDeps {
  readonly settings: ConsoleSettings;
  readonly reviews: Reviews;
  readonly live: ResumableFeed;
  readonly activeNow: Ledger['activePolicy'];
  /** Every metric, as a scraper reads it. */
  readonly readMetrics: () => Promise<string>;
  readonly log: Log;
}

interface AppEnv extends Env {
  readonly Bindings: HttpBindings;
}

/** The whole console: the guard before everything; sign-in and assets for everybody; pages, live and API for people. */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const { settings, activeNow, log } = deps;
  const signIn = createSignIn({
    ...{ settings, log },
    personNamed: async (claim) => personNamed((await activeNow())?.policy ?? null, claim),
  });
  const app = new Hono<AppEnv>();
  app.onError((error, c) => failed(error, c, log));
  app.get('/healthz', (c) => c.json({ healthy: true }));
  const viewerNow = async (identified: Identified) => viewerOf(await activeNow(), identified);
  app.use(createGuard({ settings, signIn, viewerOf: viewerNow, log }));
  app.route('/assets', createAssets());
  app.route('/', signIn.routes);
  const asViewer = async (identified: Identified | null): Promise<Viewer | null> =>
    identified === null ? null : viewerNow(identified);
  const viewerOfToken = async (authorization: string | undefined): Promise<Viewer | null> =>
    asViewer(await signIn.identifyToken(authorization));
  app.route(
    '/metrics',
    createMetrics({ token: settings.metricsToken, viewerOf: viewerOfToken, read: deps.readMetrics }),
  );
  app.use(`${API_PATH}/*`, async (c, next) => {
    if (c.req.path === `${API_PATH}${DOCUMENT_PATH}`) return next();
    const viewer = await viewerOfToken(c.req.header('authorization'));
    if (viewer === null) return noToken();
    c.set('viewer', viewer);
    c.set('csrf', '');
    return next();
  });
  app.route(API_PATH, createApi(deps));
  app.use(async (c, next) => {
    const identified = await signIn.identifySession(c.req.header('cookie'));
    if (identified === null) return toSignIn(c);
    const viewer = await asViewer(identified);
    if (viewer === null) return unlisted(c, identified);
    c.set('viewer', viewer);
    c.set('csrf', signIn.csrfOf(viewer.sessionId));
    return next();
  });
  app.route('/live', createLive({ ...deps, onSignOut: (listener) => signIn.onSignOut(listener) }));
  app.route('/', createPages(deps));
  return app;
}

function noToken(): Response {
  const detail = 'This needs the header "Authorization: Bearer TOKEN"; "holdpoint console token PERSON" makes one.';
  return problem({ code: 'UNAUTHENTICATED', detail });
}

function toSignIn(c: Context): Response {
  const { pathname, search } = new URL(c.req.url);
  if (!['GET', 'HEAD'].includes(c.req.method) || pathname === '/live')
    return c.text('Sign in first; nothing was recorded.', 401);
  return c.redirect(`/sign-in?to=${encodeURIComponent(pathname + search)}`, 303);
}

/** Somebody who was taken out of the policy after they signed in. */
async function unlisted(c: Context, { person }: Identified): Promise<Response> {
  const title = 'You are not in the policy';
  const body = messagePage({
    title,
    happened: `You are signed in as ${showText(person)}, and the active policy lists nobody of that name.`,
    recorded: 'Nothing was shown or recorded.',
    next: 'Ask whoever runs Holdpoint to add you to "people", or sign in as somebody else: /sign-in.',
  });
  return c.html(await layout({ title, viewer: null, csrf: null, body }), 403);
}

async function failed(error: Error, c: Context, log: Log): Promise<Response> {
  if (c.req.path.startsWith(API_PATH)) return failure(error, { path: showText(cut(c.req.path, 200)), log });
  log.error({ error: String(error), path: c.req.path }, 'console.failed');
  const title = 'Not available now';
  const happened = error instanceof LedgerError ? error.message : 'The console failed, and its log says why.';
  const recorded = 'If you sent a decision, whether it is on record can be read on its request.';
  const body = messagePage({ title, happened, recorded, next: 'Reload the page in a moment.' });
  return c.html(await layout({ title, viewer: null, csrf: null, body }), 503);
}
