import { z } from '@hono/zod-openapi';
import { request } from './request-schema';
import { operationId, reason, text, texts, timeMs } from './schema-parts';

const finding = z.enum(['justified', 'notJustified']);

const retrospective = z
  .object({
    ...{ grantId: text, operationId, revision: z.int(), server: text, tool: text },
    request,
    ...{ rule: text, ticket: text, reason: text, deciders: texts, skipped: texts, uses: z.int() },
    ...{ openedAtMs: timeMs, dueAtMs: timeMs },
    closed: z.object({ atMs: timeMs, by: text, finding, note: text }).nullable(),
    mayReview: z.boolean(),
    mayRead: z.boolean().openapi({ description: 'Whether the viewer may read the request and the operation.' }),
  })
  .openapi('Retrospective', { description: 'An emergency, and its review by those whom it skipped.' });

export const retrospectiveList = z
  .object({ items: z.array(retrospective).readonly(), nowMs: timeMs })
  .openapi('RetrospectiveList', {
    description: 'Open ones, the first due first; then, where asked for, closed ones of the latest 200.',
  });

export const closing = z
  .strictObject({ finding, note: reason })
  .openapi('Review', { example: { finding: 'justified', note: 'the replica was gone; the runbook is changed' } });

export const closed = z.object({ grantId: text, finding, note: text, by: text }).openapi('ClosedReview');
