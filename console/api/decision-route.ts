import { randomUUID } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import { digestOf } from '../../core/digest';
import { jsonOf } from '../../core/json-record';
import { unreachable } from '../../core/unreachable';
import type { Decided, GivenDecision, Reviews, Viewer } from '../ports';
import { answer, answers, jsonContent } from './answers';
import { givenDecision, idempotency, verdict } from './decision-schema';
import { problem } from './problem';
import { readBody } from './read-body';
import { notFound, type Api, type RouteDeps } from './routes';
import { anyId } from './schema-parts';

const RETRY_AFTER_S = 2;

const decideRoute = createRoute({
  method: 'post',
  path: '/requests/{id}/decisions',
  operationId: 'decide',
  tags: ['Requests'],
  summary: 'Allows or denies what the viewer has read: it names revision and digest, and counts for nothing else',
  middleware: readBody,
  request: {
    params: z.object({ id: anyId }),
    headers: idempotency,
    body: { required: true, content: jsonContent(givenDecision) },
  },
  responses: answers({ description: 'The decision counts.', content: jsonContent(verdict) }, [
    ...(['OTHER_REVIEWER', 'REASON_MISSING', 'NOT_FOUND', 'UNSUPPORTED_MEDIA_TYPE', 'NOT_SHOWN'] as const),
    ...(['conflict', 'late', 'stale', 'unknownRequest', 'notAReviewer', 'selfApproval', 'badSignature'] as const),
    ...([
      'cannotWiden',
      'emergencyRefused',
      'signInNeeded',
      'malformed',
      'tooLarge',
      'BODY_TOO_LARGE',
      'limit',
      'notRecorded',
    ] as const),
  ]),
});

export function addDecisionRoute(api: Api, { reviews }: RouteDeps): void {
  api.openapi(decideRoute, async (c) => {
    const viewer = c.get('viewer');
    const operationId = await operationIdOf(reviews, viewer, c.req.valid('param').id);
    if (operationId === null) return notFound();
    const { reason, minutes, reviewer, emergency, ...named } = c.req.valid('json');
    const content = {
      ...{ operationId, ...named },
      ...(reason !== undefined && { reason }),
      ...(minutes !== undefined && { minutes }),
      ...(emergency !== undefined && { emergency }),
      ...(reviewer !== undefined && { reviewer }),
    };
    const decisionId = decisionIdOf(viewer, c.req.valid('header')['Idempotency-Key'], content);
    return decidedAnswer(await reviews.decide(viewer, { ...content, decisionId }));
  });
}

/** A whole operation id is passed on as it is, so that who tries one that is not theirs is on record. */
async function operationIdOf(reviews: Reviews, viewer: Viewer, id: string): Promise<string | null> {
  if (/^op_[0-9a-f]{40}$/.test(id)) return id;
  return (await reviews.request(viewer, id))?.request.operationId ?? null;
}

/**
 * The same key of the same person with the same content is the same decision. A key with another content is another
 * decision and is judged anew, so no key can be used to have an answer taken for one that was never judged.
 */
function decisionIdOf(viewer: Viewer, key: string | undefined, content: Omit<GivenDecision, 'decisionId'>): string {
  if (key === undefined) return randomUUID();
  return digestOf(['holdpoint/console-decision/1', viewer.name, key, jsonOf(content)]);
}

function decidedAnswer(decided: Decided): Response {
  switch (decided.kind) {
    case 'notFound':
      return notFound();
    case 'refused': {
      const { code, detail } = decided;
      const field = { OTHER_REVIEWER: '/reviewer', REASON_MISSING: '/reason', NOT_SHOWN: '/answer' }[code];
      return problem({ code, detail, errors: [{ in: 'body', field, detail }] });
    }
    case 'verdict': {
      const { code, detail, ...parts } = decided.verdict;
      if (code === 'accepted' || code === 'alreadyDecided') return answer(verdict, { code, detail, ...parts });
      const retryAfterS = code === 'notRecorded' || code === 'limit' ? { retryAfterS: RETRY_AFTER_S } : {};
      const { signIn } = decided;
      return problem({ code, detail, verdict: parts, ...retryAfterS, ...(signIn !== undefined && { signIn }) });
    }
    default:
      return unreachable(decided);
  }
}
