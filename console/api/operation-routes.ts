import { createRoute, z } from '@hono/zod-openapi';
import { answer, answers, jsonContent } from './answers';
import {
  OPERATION_STATES,
  operationPage,
  operationStory,
  reversal,
  reversed,
  settled,
  settlement,
} from './operation-schema';
import { problem } from './problem';
import { readBody } from './read-body';
import { notFound, type Api, type RouteDeps } from './routes';
import { anyId, cursor, limit } from './schema-parts';

const listRoute = createRoute({
  method: 'get',
  path: '/operations',
  operationId: 'listOperations',
  tags: ['Operations'],
  summary: 'Operations that were sent and that the viewer may see, newest first',
  request: {
    query: z.strictObject({
      state: z.enum(OPERATION_STATES).optional().openapi({ description: 'All by default.' }),
      ...{ cursor, limit },
    }),
  },
  responses: answers({ description: 'One page.', content: jsonContent(operationPage) }, ['INVALID_CURSOR']),
});

const readRoute = createRoute({
  method: 'get',
  path: '/operations/{id}',
  operationId: 'readOperation',
  tags: ['Operations'],
  summary: 'One operation as a story: what was asked, decided, re-checked, sent and committed',
  request: { params: z.object({ id: anyId }) },
  responses: answers({ description: 'The story.', content: jsonContent(operationStory) }, ['NOT_FOUND']),
});

const settleRoute = createRoute({
  method: 'post',
  path: '/operations/{id}/settlement',
  operationId: 'settle',
  tags: ['Operations'],
  summary: 'States the outcome of an operation whose outcome is unknown; operators only',
  middleware: readBody,
  request: { params: z.object({ id: anyId }), body: { required: true, content: jsonContent(settlement) } },
  responses: answers({ description: 'The outcome on record.', content: jsonContent(settled) }, [
    ...(['NOT_FOUND', 'NOT_SETTLED', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
  ]),
});

const reverseRoute = createRoute({
  method: 'post',
  path: '/operations/{id}/reversal',
  operationId: 'reportReversal',
  tags: ['Operations'],
  summary: 'Puts on record that the effect of an executed operation was undone; operators only',
  middleware: readBody,
  request: { params: z.object({ id: anyId }), body: { required: true, content: jsonContent(reversal) } },
  responses: answers({ description: 'The reversal is on record.', content: jsonContent(reversed) }, [
    ...(['NOT_FOUND', 'NOT_REVERSED', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
  ]),
});

export function addOperationRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(listRoute, async (c) => {
    const { state, ...page } = c.req.valid('query');
    const found = await reviews.operations(c.get('viewer'), { ...page, ...(state !== undefined && { state }) });
    return answer(operationPage, found);
  });
  api.openapi(readRoute, async (c) => {
    const story = await reviews.operation(c.get('viewer'), c.req.valid('param').id);
    return story === null ? notFound() : answer(operationStory, story);
  });
  api.openapi(settleRoute, async (c) => {
    const viewer = c.get('viewer');
    const story = viewer.isOperator ? await reviews.operation(viewer, c.req.valid('param').id) : null;
    if (story === null) return notFound();
    const { operationId } = story;
    const given = c.req.valid('json');
    const done = await reviews.settle(viewer, { ...given, operationId });
    if (done === null) return notFound();
    if (!done.ok) return problem({ code: 'NOT_SETTLED', detail: done.detail });
    return answer(settled, { operationId, outcome: given.outcome });
  });
  api.openapi(reverseRoute, async (c) => {
    const viewer = c.get('viewer');
    const story = viewer.isOperator ? await reviews.operation(viewer, c.req.valid('param').id) : null;
    if (story === null) return notFound();
    const { operationId } = story;
    const { reason } = c.req.valid('json');
    const done = await reviews.reportReversal(viewer, { operationId, reason });
    if (done === null) return notFound();
    if (!done.ok) return problem({ code: 'NOT_REVERSED', detail: done.detail });
    return answer(reversed, { operationId, reason, by: viewer.name });
  });
}
