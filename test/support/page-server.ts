import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve, type ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import { createAssets } from '../../console/assets/create-assets';
import { createPages } from '../../console/pages/create-pages';
import type { Env, LiveChange, Reviews, Viewer } from '../../console/ports';
import { setSecurityHeaders } from '../../console/security-headers';
import { VIEWER } from './request-views';

/** What a test's pages show; a method that it leaves out is never to be called. */
export type FakeReviews = Partial<Reviews>;

export const CSRF = 'csrf-of-this-session';

/** The pages as the console mounts them, for one viewer who is signed in already. */
export function pagesApp(reviews: FakeReviews, viewer: Viewer = VIEWER): Hono<Env> {
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    c.set('viewer', viewer);
    c.set('csrf', CSRF);
    await next();
    setSecurityHeaders(c, false);
  });
  app.route('/assets', createAssets());
  app.route('/', createPages({ reviews: reviews as Reviews, log: { info() {}, warn() {}, error: console.error } }));
  return app;
}

export interface PageServer {
  readonly url: string;
  /** Tells every open page of a change. */
  readonly tell: (change: LiveChange) => void;
  /** How often a page began to follow changes. */
  readonly followed: () => number;
  readonly close: () => Promise<void>;
}

/** The same pages on a port of their own, with a stream of changes that the test feeds. */
export async function startPageServer(reviews: FakeReviews, viewer: Viewer = VIEWER): Promise<PageServer> {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let followed = 0;
  const app = new Hono<Env>();
  app.get('/live', (c) => {
    let own: ReadableStreamDefaultController<Uint8Array> | null = null;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        open.add(controller);
        followed += 1;
        controller.enqueue(new TextEncoder().encode('retry: 100\n\n'));
      },
      cancel() {
        if (own !== null) open.delete(own);
      },
    });
    return c.body(stream, 200, { 'content-type': 'text/event-stream' });
  });
  app.route('/', pagesApp(reviews, viewer));
  const server: ServerType = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  if (!server.listening) await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tell: (change) => {
      const text = `id: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`;
      for (const controller of open) controller.enqueue(new TextEncoder().encode(text));
    },
    followed: () => followed,
    close: async () => {
      for (const controller of open) controller.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
