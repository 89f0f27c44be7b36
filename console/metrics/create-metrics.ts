import { createHash, timingSafeEqual } from 'node:crypto';
import { Hono } from 'hono';
import { problem } from '../api/problem';
import type { Viewer } from '../ports';
import { PROMETHEUS_TYPE } from './prometheus-text';

export interface MetricsDeps {
  /** The scraper's own token, which opens nothing else; null where there is none. */
  readonly token: string | null;
  /** Who a bearer token of the API belongs to. */
  readonly viewerOf: (authorization: string | undefined) => Promise<Viewer | null>;
  readonly read: () => Promise<string>;
}

const BEARER = /^bearer +(\S+) *$/i;

/** `GET /metrics`, for the scraper and for operators: what is asked how often, and of whom, is nobody else's business. */
export function createMetrics({ token, viewerOf, read }: MetricsDeps): Hono {
  const metrics = new Hono();
  metrics.get('/', async (c) => {
    const authorization = c.req.header('authorization');
    if (!isScraper(token, authorization)) {
      const viewer = await viewerOf(authorization);
      if (viewer === null) return problem({ code: 'UNAUTHENTICATED', detail: NEEDS });
      if (!viewer.isOperator) return problem({ code: 'NOT_FOUND', detail: 'There is nothing here for you.' });
    }
    return c.body(await read(), 200, { 'content-type': PROMETHEUS_TYPE });
  });
  return metrics;
}

const NEEDS =
  'This needs the header "Authorization: Bearer TOKEN": an API token of an operator, or the one in the file that ' +
  'HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE names.';

/** Compared by digests, which are of one length: how long it takes says nothing of the token. */
function isScraper(token: string | null, authorization = ''): boolean {
  const [, given] = BEARER.exec(authorization) ?? [];
  return token !== null && given !== undefined && timingSafeEqual(sha256(given), sha256(token));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
