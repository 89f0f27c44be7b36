import type { Hono } from 'hono';
import { html } from 'hono/html';
import { issuesText } from '../../core/schema-issues';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { retrospectiveForm } from './form-schema';
import { named } from './given';
import { linkWith } from './link-with';
import { grantsQuery } from './page-queries';
import { retrospectivesPage } from './retrospectives-page';
import { showBadForm, showConflict, showMalformed, showNotFound, showPage } from './show-page';
import { writtenView } from './written';

interface Deps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** Emergencies, and the form that closes the review of one. */
export function addRetrospectives(pages: Hono<Env>, { reviews, log }: Deps): void {
  pages.get('/retrospectives', async (c) => {
    const query = grantsQuery.safeParse(c.req.query());
    if (!query.success) return showMalformed(c, issuesText(query.error, 'the address'));
    const viewer = c.get('viewer');
    const all = query.data.all === '1';
    const view = await reviews.retrospectives(viewer, { all });
    const isTheirs = view.emergencies.some(
      ({ grantId, closed }) => grantId === query.data.said && closed?.by === viewer.name,
    );
    const said = isTheirs ? html`<p class="flash" role="status">Your review is on record.</p>` : null;
    const body = retrospectivesPage({ view, all, csrf: c.get('csrf'), said });
    return showPage(c, { title: 'Emergencies', body, section: 'reviews', live: 'list' });
  });

  pages.post('/retrospectives/:id/review', async (c) => {
    const form = retrospectiveForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    const grantId = c.req.param('id');
    const { finding, note } = form.data;
    const closed = await reviews.closeRetrospective(c.get('viewer'), { grantId, finding, note });
    if (closed === null) return showNotFound(c);
    log.info({ grantId, finding, ok: closed.ok }, 'console.retrospective');
    if (closed.ok) return c.redirect(`${linkWith('/retrospectives', { all: '1', said: grantId })}#${grantId}`, 303);
    return showConflict(c, {
      title: 'This review is not to be closed',
      happened: html`${named(closed.detail)}.`,
      recorded: 'Nothing was recorded.',
      next: html`<a href="/retrospectives?all=1#${grantId}">Read what became of it</a>`,
      more: writtenView([note]),
    });
  });
}
