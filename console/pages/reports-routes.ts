import type { Context, Hono } from 'hono';
import { issuesText } from '../../core/schema-issues';
import type { Env, Reviews } from '../ports';
import type { Reports } from '../reports/report';
import type { Html } from './layout';
import { reportQuery } from './page-queries';
import { REPORT_PATHS } from './report-parts';
import { reviewsReportPage } from './reviews-report-page';
import { rulesReportPage } from './rules-report-page';
import { showMalformed, showNotFound, showPage } from './show-page';

/** The two reports, for operators; for everybody else there is no such page. */
export function addReports(pages: Hono<Env>, { reviews }: { readonly reviews: Reviews }): void {
  const show = async (c: Context<Env>, title: string, viewOf: (reports: Reports) => Html): Promise<Response> => {
    const query = reportQuery.safeParse(c.req.query());
    if (!query.success) return showMalformed(c, issuesText(query.error, 'the address'));
    const reports = await reviews.reports(c.get('viewer'), query.data.window ?? '7d');
    return reports === null ? showNotFound(c) : showPage(c, { title, body: viewOf(reports), section: 'reports' });
  };
  pages.get(REPORT_PATHS.rules, (c) => show(c, 'Report on rules', rulesReportPage));
  pages.get(REPORT_PATHS.reviews, (c) => show(c, 'Report on reviews', reviewsReportPage));
}
