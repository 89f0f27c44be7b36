import { createRoute, z } from '@hono/zod-openapi';
import { answer, answers, jsonContent } from './answers';
import { requestView } from './decision-schema';
import { REQUEST_STATES, requestPage } from './request-schema';
import { notFound, type Api, type RouteDeps } from './routes';
import { anyId, cursor, flag, limit, wholeNumber } from './schema-parts';

const name = z.string().min(1).max(300).optional();

const listRoute = createRoute({
  method: 'get',
  path: '/requests',
  operationId: 'listRequests',
  tags: ['Requests'],
  summary: 'Approval requests that the viewer may see: open ones oldest first, others newest first',
  request: {
    query: z.strictObject({
      state: z.enum(REQUEST_STATES).optional().openapi({ description: '"pending" by default.' }),
      ...{ server: name, tool: name },
      requester: name.openapi({ description: 'The subject who asked.', example: 'user:amira' }),
      mine: flag.optional().openapi({ type: 'boolean', description: 'Only those that ask the viewer now.' }),
      ...{ cursor, limit },
    }),
  },
  responses: answers({ description: 'One page.', content: jsonContent(requestPage) }, ['INVALID_CURSOR']),
});

const readRoute = createRoute({
  method: 'get',
  path: '/requests/{id}',
  operationId: 'readRequest',
  tags: ['Requests'],
  summary: 'One approval request with its decisions, and whether the viewer may answer it',
  request: {
    params: z.object({ id: anyId }),
    query: z.strictObject({
      revision: wholeNumber('revision', { min: 1, max: 1_000 })
        .optional()
        .openapi({ description: 'The newest by default; that of the short id, where one is given.' }),
    }),
  },
  responses: answers({ description: 'The request.', content: jsonContent(requestView) }, ['NOT_FOUND']),
});

export function addRequestRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(listRoute, async (c) => {
    const { state, server, tool, requester, mine, ...page } = c.req.valid('query');
    const found = await reviews.queue(c.get('viewer'), {
      ...page,
      ...(state !== undefined && { state }),
      ...(server !== undefined && { server }),
      ...(tool !== undefined && { tool }),
      ...(requester !== undefined && { subject: requester }),
      ...(mine !== undefined && { mine }),
    });
    return answer(requestPage, found);
  });
  api.openapi(readRoute, async (c) => {
    const { revision } = c.req.valid('query');
    const view = await reviews.request(c.get('viewer'), c.req.valid('param').id, revision);
    if (view === null) return notFound();
    // The policy has keys and addresses of servers: whoever asks about a request gets none of it.
    const { policy: _policy, ...shown } = view;
    return answer(requestView, shown);
  });
}
