import { z } from '@hono/zod-openapi';
import { request } from './request-schema';
import { operationId, revision, text, texts, timeMs } from './schema-parts';

const answer = z.enum(['allow', 'deny']);
const note = z.string().max(4_000).openapi({ example: 'the filter matches other tenants too' });

const done = z
  .object({
    ...{ answer, by: text, note: text, atMs: timeMs, agrees: z.boolean() },
    ...{ decided: answer, deciders: texts, decidedAtMs: timeMs },
  })
  .openapi('SecondReviewDone', { description: 'What somebody would have answered, and what was decided.' });

const secondReview = z
  .object({
    request,
    done: done.nullable().openapi({ description: 'Null while it is open: what was decided is told afterwards.' }),
  })
  .openapi('SecondReview');

export const secondReviewList = z
  .object({ items: z.array(secondReview).readonly(), nowMs: timeMs })
  .openapi('SecondReviewList', {
    description:
      'Those that wait for the viewer; then, where asked for, those that are done. The latest decision first.',
  });

export const secondAnswer = z.strictObject({ revision, answer, note: note.optional() }).openapi('SecondAnswer', {
  description: 'What the viewer would have answered; a denial needs a note.',
  example: { revision: 1, answer: 'deny', note: 'the filter matches other tenants too' },
});

export const secondReviewed = z
  .object({ operationId, revision, answer, note: text, by: text, agrees: z.boolean(), decided: answer })
  .openapi('SecondReviewed', { description: 'The second review on record, and what was decided.' });
