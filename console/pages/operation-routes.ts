import type { Hono } from 'hono';
import { stream } from 'hono/streaming';
import type { StreamingApi } from 'hono/utils/stream';
import { issuesText } from '../../core/schema-issues';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { revocationForm, settlementForm } from './form-schema';
import { operationPage } from './operation-page';
import { operationsPage } from './operations-page';
import { operationsQuery, saidQuery } from './page-queries';
import { saidOfOperation } from './said';
import { showBadForm, showConflict, showMalformed, showNotFound, showPage } from './show-page';
import { html } from 'hono/html';
import { named } from './given';
import { writtenView } from './written';

interface Deps {
  readonly reviews: Reviews;
  readonly log: Log;
}

/** The operations that were sent, the story of each, and the form that settles an unknown outcome. */
export function addOperations(pages: Hono<Env>, { reviews, log }: Deps): void {
  pages.get('/operations', async (c) => {
    const query = operationsQuery.safeParse(c.req.query());
    if (!query.success) return showMalformed(c, issuesText(query.error, 'the address'));
    const page = await reviews.operations(c.get('viewer'), query.data);
    const body = operationsPage({ page, state: query.data.state ?? null });
    return showPage(c, { title: 'Operations', body, section: 'operations', live: 'list' });
  });

  pages.get('/operations/:id', async (c) => {
    const viewer = c.get('viewer');
    const view = await reviews.operation(viewer, c.req.param('id'));
    if (view === null) return showNotFound(c);
    const said = saidOfOperation(saidQuery.safeParse(c.req.query()).data?.said, view, viewer);
    const body = operationPage({ view, viewer, csrf: c.get('csrf'), said });
    return showPage(c, { title: view.operationId, body, section: 'operations', live: view.operationId });
  });

  addRecord(pages, { reviews, log });

  pages.post('/operations/:id/settlement', async (c) => {
    const form = settlementForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    const operationId = c.req.param('id');
    const { outcome, reason } = form.data;
    const settled = await reviews.settle(c.get('viewer'), { operationId, outcome, reason });
    if (settled === null) return showNotFound(c);
    log.info({ operationId, outcome, ok: settled.ok }, 'console.settlement');
    if (settled.ok) return c.redirect(`/operations/${operationId}?said=settled`, 303);
    return showConflict(c, {
      title: 'This outcome is not to be settled',
      happened: html`${named(settled.detail)}.`,
      recorded: 'Nothing was recorded.',
      next: html`<a href="/operations/${operationId}">Read the operation as it is now</a>`,
      more: writtenView([reason]),
    });
  });
}

/** What operators take from the record, and what they add to it later. */
function addRecord(pages: Hono<Env>, { reviews, log }: Deps): void {
  pages.get('/audit/export', (c) => {
    const viewer = c.get('viewer');
    const lines = reviews.auditExport(viewer);
    if (lines === null) return showNotFound(c);
    log.info({ by: viewer.name }, 'console.auditExport');
    c.header('Content-Type', 'application/jsonl; charset=utf-8');
    c.header('Content-Disposition', 'attachment; filename="holdpoint-audit.jsonl"');
    const write = async (to: StreamingApi): Promise<void> => {
      for await (const line of lines) {
        if (to.aborted) return;
        await to.write(`${line}\n`);
      }
    };
    // An export that broke off has no last line, and `audit verify` says so.
    const broken = (error: Error): Promise<void> => {
      log.error({ error: String(error) }, 'console.auditExportFailed');
      return Promise.resolve();
    };
    return stream(c, write, broken);
  });

  pages.post('/operations/:id/reversal', async (c) => {
    const form = revocationForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    const operationId = c.req.param('id');
    const reported = await reviews.reportReversal(c.get('viewer'), { operationId, reason: form.data.reason });
    if (reported === null) return showNotFound(c);
    log.info({ operationId, ok: reported.ok }, 'console.reversal');
    if (reported.ok) return c.redirect(`/operations/${operationId}`, 303);
    return showConflict(c, {
      title: 'This is not to be reported as undone',
      happened: html`${named(reported.detail)}.`,
      recorded: 'Nothing was recorded.',
      next: html`<a href="/operations/${operationId}">Read the operation as it is now</a>`,
      more: writtenView([form.data.reason]),
    });
  });
}
