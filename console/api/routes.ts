import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { problem } from './problem';

export type Api = OpenAPIHono<Env>;

export interface RouteDeps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** The same for what does not exist and for what is not the viewer's, to the byte. */
export function notFound(): Response {
  return problem({ code: 'NOT_FOUND', detail: 'There is no such thing, or it does not concern you.' });
}
