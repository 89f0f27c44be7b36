import type { Hono } from 'hono';
import { html } from 'hono/html';
import { issuesText } from '../../core/schema-issues';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { revocationForm } from './form-schema';
import { named } from './given';
import { grantsPage } from './grants-page';
import { linkWith } from './link-with';
import { grantsQuery } from './page-queries';
import { saidOfGrants } from './said';
import { showBadForm, showConflict, showMalformed, showNotFound, showPage } from './show-page';
import { writtenView } from './written';

interface Deps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** What was allowed and may still be used, and the form that revokes it. */
export function addGrants(pages: Hono<Env>, { reviews, log }: Deps): void {
  pages.get('/grants', async (c) => {
    const query = grantsQuery.safeParse(c.req.query());
    if (!query.success) return showMalformed(c, issuesText(query.error, 'the address'));
    const viewer = c.get('viewer');
    const all = query.data.all === '1';
    const view = await reviews.grants(viewer, { all });
    const said = saidOfGrants(query.data.said, view, viewer);
    const body = grantsPage({ view, all, viewer, csrf: c.get('csrf'), said });
    return showPage(c, { title: 'Grants', body, section: 'grants', live: 'list' });
  });

  pages.post('/grants/:id/revocation', async (c) => {
    const form = revocationForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    const grantId = c.req.param('id');
    const revoked = await reviews.revokeGrant(c.get('viewer'), { grantId, reason: form.data.reason });
    if (revoked === null || (!revoked.ok && revoked.grant === null)) return showNotFound(c);
    log.info({ grantId, ok: revoked.ok }, 'console.revocation');
    if (revoked.ok) return c.redirect(linkWith('/grants', { all: '1', said: grantId }), 303);
    return showConflict(c, {
      title: 'This grant is not to be revoked',
      happened: html`${named(revoked.detail)}.`,
      recorded: 'Nothing was recorded.',
      next: html`<a href="/grants?all=1">Read what became of it</a>`,
      more: writtenView([form.data.reason]),
    });
  });
}
