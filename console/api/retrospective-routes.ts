import { createRoute, z } from '@hono/zod-openapi';
import { answer, answers, jsonContent } from './answers';
import { problem } from './problem';
import { readBody } from './read-body';
import { closed, closing, retrospectiveList } from './retrospective-schema';
import { notFound, type Api, type RouteDeps } from './routes';
import { flag } from './schema-parts';
import { grantId } from './grant-schema';

const listRoute = createRoute({
  method: 'get',
  path: '/retrospectives',
  operationId: 'listRetrospectives',
  tags: ['Emergencies'],
  summary: 'Emergencies that the viewer may see: those whose review is open, and those that are closed if asked for',
  request: {
    query: z.strictObject({
      all: flag.optional().openapi({ type: 'boolean', description: 'Also those whose review is closed.' }),
    }),
  },
  responses: answers({ description: 'The emergencies.', content: jsonContent(retrospectiveList) }),
});

const closeRoute = createRoute({
  method: 'post',
  path: '/retrospectives/{id}/review',
  operationId: 'closeRetrospective',
  tags: ['Emergencies'],
  summary: 'Closes the review of an emergency with what the viewer found, who is one of those whom it skipped',
  middleware: readBody,
  request: { params: z.object({ id: grantId }), body: { required: true, content: jsonContent(closing) } },
  responses: answers({ description: 'The review is closed.', content: jsonContent(closed) }, [
    ...(['NOT_FOUND', 'NOT_REVIEWED', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
  ]),
});

export function addRetrospectiveRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(listRoute, async (c) => {
    const view = await reviews.retrospectives(c.get('viewer'), { all: c.req.valid('query').all ?? false });
    return answer(retrospectiveList, { items: view.emergencies, nowMs: view.nowMs });
  });
  api.openapi(closeRoute, async (c) => {
    const viewer = c.get('viewer');
    const given = { grantId: c.req.valid('param').id, ...c.req.valid('json') };
    const done = await reviews.closeRetrospective(viewer, given);
    if (done === null) return notFound();
    if (!done.ok) return problem({ code: 'NOT_REVIEWED', detail: done.detail });
    return answer(closed, { ...given, by: viewer.name });
  });
}
