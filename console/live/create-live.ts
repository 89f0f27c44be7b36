import { Hono } from 'hono';
import type { Env } from '../ports';
import { createEventStreams, type StreamDeps } from './event-streams';

/** The stream of changes that the pages follow, at the path where it is mounted: the same as the API's `/events`. */
export function createLive(deps: StreamDeps): Hono<Env> {
  const streams = createEventStreams(deps);
  const app = new Hono<Env>();
  app.get('/', (c) => {
    const opened = streams(c);
    if (opened.ok) return opened.response;
    if (opened.code === 'limit')
      return c.text('Too many windows follow changes. Close one, then load this again.', 429);
    return c.text('Last-Event-ID is the number of a change. Load the page again.', 400);
  });
  return app;
}
