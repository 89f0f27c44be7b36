import { createRoute, z } from '@hono/zod-openapi';
import { answer, answers, jsonContent } from './answers';
import { reports, reportWindow } from './report-schema';
import { notFound, type Api, type RouteDeps } from './routes';

const readRoute = createRoute({
  method: 'get',
  path: '/reports',
  operationId: 'readReports',
  tags: ['Reports'],
  summary: 'What there is to tune in the rules, and how long reviews take; operators only',
  request: { query: z.strictObject({ window: reportWindow }) },
  responses: answers({ description: 'Two reports over one window that ends now.', content: jsonContent(reports) }, [
    'NOT_FOUND',
  ]),
});

export function addReportRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(readRoute, async (c) => {
    const read = await reviews.reports(c.get('viewer'), c.req.valid('query').window ?? '7d');
    return read === null ? notFound() : answer(reports, read);
  });
}
