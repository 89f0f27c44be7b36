import { createRoute, z } from '@hono/zod-openapi';
import { answer, answers, jsonContent } from './answers';
import { grantId, grantList, revocation, revoked } from './grant-schema';
import { problem } from './problem';
import { readBody } from './read-body';
import { notFound, type Api, type RouteDeps } from './routes';
import { flag } from './schema-parts';

const listRoute = createRoute({
  method: 'get',
  path: '/grants',
  operationId: 'listGrants',
  tags: ['Grants'],
  summary: 'Grants that the viewer may see: those that still permit something, or the latest of all',
  request: {
    query: z.strictObject({
      all: flag.optional().openapi({ type: 'boolean', description: 'Also those that have ended.' }),
    }),
  },
  responses: answers({ description: 'The grants.', content: jsonContent(grantList) }),
});

const revokeRoute = createRoute({
  method: 'post',
  path: '/grants/{id}/revocation',
  operationId: 'revokeGrant',
  tags: ['Grants'],
  summary: 'Ends a grant now; operators only',
  middleware: readBody,
  request: { params: z.object({ id: grantId }), body: { required: true, content: jsonContent(revocation) } },
  responses: answers({ description: 'The grant has ended.', content: jsonContent(revoked) }, [
    ...(['NOT_FOUND', 'NOT_REVOKED', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
  ]),
});

export function addGrantRoutes(api: Api, { reviews }: RouteDeps): void {
  api.openapi(listRoute, async (c) => {
    const { grants, nowMs } = await reviews.grants(c.get('viewer'), { all: c.req.valid('query').all ?? false });
    return answer(grantList, { items: grants, nowMs });
  });
  api.openapi(revokeRoute, async (c) => {
    const given = { grantId: c.req.valid('param').id, reason: c.req.valid('json').reason };
    const done = await reviews.revokeGrant(c.get('viewer'), given);
    if (done === null || done.grant === null) return notFound();
    if (!done.ok) return problem({ code: 'NOT_REVOKED', detail: done.detail });
    const { grant } = done;
    return answer(revoked, {
      grantId: grant.grant_id,
      operationId: grant.operation_id,
      uses: grant.uses,
      maxUses: grant.max_uses,
      revokedAtMs: grant.revoked_at,
      revokedBy: grant.revoked_by,
      revokedReason: grant.revoked_reason,
    });
  });
}
