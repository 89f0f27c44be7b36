import { createRoute, z } from '@hono/zod-openapi';
import type { SecondReviewRefused } from '../../ledger/commands/give-second-review';
import type { SampledDecision } from '../../ledger/second-reviews';
import { answer, answers, jsonContent } from './answers';
import { problem } from './problem';
import { readBody } from './read-body';
import { notFound, type Api, type RouteDeps } from './routes';
import { anyId, flag } from './schema-parts';
import { secondAnswer, secondReviewList, secondReviewed } from './second-review-schema';

const listRoute = createRoute({
  method: 'get',
  path: '/second-reviews',
  operationId: 'listSecondReviews',
  tags: ['Second reviews'],
  summary: 'Decided requests of the sample, without what was decided; and those that are done, with it, if asked for',
  request: {
    query: z.strictObject({
      all: flag.optional().openapi({
        type: 'boolean',
        description: 'Also those that are done: by the viewer, and for operators by anybody.',
      }),
    }),
  },
  responses: answers({ description: 'The second reviews.', content: jsonContent(secondReviewList) }),
});

const giveRoute = createRoute({
  method: 'post',
  path: '/operations/{id}/second-review',
  operationId: 'giveSecondReview',
  tags: ['Second reviews'],
  summary: 'Says what the viewer would have answered to a decided request of the sample; then tells what was decided',
  middleware: readBody,
  request: { params: z.object({ id: anyId }), body: { required: true, content: jsonContent(secondAnswer) } },
  responses: answers({ description: 'The second review is on record.', content: jsonContent(secondReviewed) }, [
    ...(['REASON_MISSING', 'NOT_FOUND', 'NOT_SECOND_REVIEWED', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
  ]),
});

/** The blind second review: nothing here tells what was decided before the viewer has said theirs. */
export function addSecondReviewRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(listRoute, async (c) => {
    const view = await reviews.secondReviews(c.get('viewer'));
    const open = view.open.map((request) => ({ request, done: null }));
    const done = c.req.valid('query').all === true ? view.done.flatMap(doneItem) : [];
    return answer(secondReviewList, { items: [...open, ...done], nowMs: view.nowMs });
  });
  api.openapi(giveRoute, async (c) => {
    const viewer = c.get('viewer');
    const story = await reviews.operation(viewer, c.req.valid('param').id);
    if (story === null) return notFound();
    const { note = '', ...said } = c.req.valid('json');
    const given = { operationId: story.operationId, ...said, note };
    const reviewed = await reviews.giveSecondReview(viewer, given);
    if (!reviewed.ok) return refused(reviewed);
    const { agrees, decided } = reviewed;
    return answer(secondReviewed, { ...given, by: viewer.name, agrees, decided });
  });
}

function doneItem({ request, answer: decided, deciders, decidedAtMs, second }: SampledDecision) {
  if (second === null) return [];
  return [{ request, done: { ...second, agrees: second.answer === decided, decided, deciders, decidedAtMs } }];
}

function refused({ code, detail }: SecondReviewRefused) {
  switch (code) {
    case 'notOpen':
      return notFound();
    case 'done':
      return problem({ code: 'NOT_SECOND_REVIEWED', detail });
    case 'noteMissing':
      return problem({ code: 'REASON_MISSING', detail });
  }
}
