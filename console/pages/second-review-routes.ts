import type { Hono } from 'hono';
import { html } from 'hono/html';
import { issuesText } from '../../core/schema-issues';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { secondReviewForm } from './form-schema';
import { named } from './given';
import { linkWith } from './link-with';
import { saidQuery } from './page-queries';
import { secondReviewPage } from './second-review-page';
import { showBadForm, showConflict, showPage } from './show-page';
import { writtenView } from './written';

interface Deps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** The blind second review of a sample of decisions. */
export function addSecondReviews(pages: Hono<Env>, { reviews, log }: Deps): void {
  pages.get('/second-reviews', async (c) => {
    const viewer = c.get('viewer');
    const view = await reviews.secondReviews(viewer);
    const last = saidQuery.safeParse(c.req.query()).data?.said;
    const told = view.done.find(({ request, second }) => request.operationId === last && second?.by === viewer.name);
    const said =
      told === undefined
        ? null
        : html`<p class="flash" role="status">
            On record. ${named(told.deciders.join(', '))} answered ${told.answer},
            ${told.answer === told.second?.answer ? 'as you would have' : 'and you would not have'}.
          </p>`;
    const body = secondReviewPage({ view, csrf: c.get('csrf'), said });
    return showPage(c, { title: 'Second reviews', body, section: 'reviews' });
  });

  pages.post('/second-reviews/:id', async (c) => {
    const form = secondReviewForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    const operationId = c.req.param('id');
    const { revision, answer, note } = form.data;
    const given = await reviews.giveSecondReview(c.get('viewer'), { operationId, revision, answer, note });
    log.info({ operationId, revision, ok: given.ok }, 'console.secondReview');
    if (given.ok) return c.redirect(linkWith('/second-reviews', { said: operationId }), 303);
    return showConflict(c, {
      title: 'This second review does not count',
      happened: html`${named(given.detail)}.`,
      recorded: 'Nothing was recorded.',
      next: html`<a href="/second-reviews">Back to the second reviews</a>`,
      more: writtenView([note]),
    });
  });
}
