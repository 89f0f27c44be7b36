import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { issuesText } from '../../core/schema-issues';
import { LedgerError } from '../../ledger/ledger-error';
import type { Log } from '../../ledger/log';
import { BadCursor } from '../gather';
import type { Env, Reviews } from '../ports';
import { addDecision } from './decision-route';
import { named } from './given';
import { addGrants } from './grants-routes';
import { failedPage } from './message-page';
import { addOperations } from './operation-routes';
import { queueQuery, requestQuery } from './page-queries';
import { queuePage } from './queue-page';
import { requestPage } from './request-page';
import { addRetrospectives } from './retrospectives-routes';
import { addReports } from './reports-routes';
import { addSecondReviews } from './second-review-routes';
import { saidOfRequest } from './said';
import { showMalformed, showNotFound, showPage } from './show-page';

export interface PagesDeps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** The pages of whoever is signed in. The guard before them has set `viewer` and `csrf`, and has checked every form. */
export function createPages(deps: PagesDeps): Hono<Env> {
  const pages = new Hono<Env>();
  addQueue(pages, deps);
  addRequest(pages, deps);
  addDecision(pages, deps);
  addOperations(pages, deps);
  addGrants(pages, deps);
  addRetrospectives(pages, deps);
  addSecondReviews(pages, deps);
  addReports(pages, deps);
  pages.all('*', showNotFound);
  pages.onError((error, c) => {
    if (error instanceof BadCursor)
      return showMalformed(c, 'This address names a page that the console gave to nobody');
    deps.log.error({ error: String(error) }, 'console.pageFailed');
    const ofLedger = error instanceof LedgerError ? named(error.message) : null;
    return showPage(c, { title: 'This did not work', body: failedPage(ofLedger) }, ofLedger === null ? 500 : 503);
  });
  return pages;
}

function addQueue(pages: Hono<Env>, { reviews }: PagesDeps): void {
  pages.get('/', async (c) => {
    const parsed = queueQuery.safeParse(c.req.query());
    if (!parsed.success) return showMalformed(c, issuesText(parsed.error, 'the address'));
    const { all, state = 'pending', ...rest } = parsed.data;
    const mine = state === 'pending' && all !== '1';
    const page = await reviews.queue(c.get('viewer'), { ...rest, state, mine });
    const body = queuePage({ page, state, mine, query: c.req.query() });
    return showPage(c, { title: 'Requests', body, section: 'requests', live: 'list' });
  });
}

function addRequest(pages: Hono<Env>, { reviews }: PagesDeps): void {
  pages.get('/requests/:id', async (c) => {
    const query = requestQuery.safeParse(c.req.query());
    if (!query.success) return showMalformed(c, issuesText(query.error, 'the address'));
    const viewer = c.get('viewer');
    const view = await reviews.request(viewer, c.req.param('id'), query.data.revision);
    if (view === null) return showNotFound(c);
    const { operationId, shortId, tool } = view.request;
    const keys = { csrf: c.get('csrf'), allowId: randomUUID(), denyId: randomUUID(), emergencyId: randomUUID() };
    const body = requestPage({ view, viewer, keys, said: saidOfRequest(query.data.said, view, viewer) });
    return showPage(c, { title: `${shortId} ${tool}`, body, section: 'requests', live: operationId });
  });
}
