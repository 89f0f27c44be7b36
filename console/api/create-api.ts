import { OpenAPIHono, createRoute, z } from '@hono/zod-openapi';
import { cut, showText } from '../../core/display';
import type { StreamDeps } from '../live/event-streams';
import type { Env, Reviews } from '../ports';
import { answer, answers, jsonContent } from './answers';
import { addDecisionRoute } from './decision-route';
import { failure } from './failure';
import { addGrantRoutes } from './grant-routes';
import { addRetrospectiveRoutes } from './retrospective-routes';
import { invalid } from './invalid';
import { addOperationRoutes } from './operation-routes';
import { problem } from './problem';
import { addReportRoutes } from './report-routes';
import { addRequestRoutes } from './request-routes';
import type { Api } from './routes';
import { addSecondReviewRoutes } from './second-review-routes';
import { addViewerRoutes } from './viewer-routes';

/** Where whoever composes the console mounts the API. */
export const API_PATH = '/api/v1';

/** The path below `API_PATH` that needs no token. */
export const DOCUMENT_PATH = '/openapi.json';

export interface ApiDeps extends StreamDeps {
  readonly reviews: Reviews;
}

/**
 * The HTTP API. Whoever mounts it has set `viewer` by a bearer token, or answered 401; `DOCUMENT_PATH` alone needs
 * none. Every error is a problem (RFC 9457).
 */
export function createApi(deps: ApiDeps): OpenAPIHono<Env> {
  const api: Api = new OpenAPIHono<Env>({ defaultHook: (checked) => invalid(checked) });
  api.onError((error, c) => failure(error, { path: showText(cut(c.req.path, 200)), log: deps.log }));
  addRequestRoutes(api, deps);
  addDecisionRoute(api, deps);
  addOperationRoutes(api, deps);
  addGrantRoutes(api, deps);
  addRetrospectiveRoutes(api, deps);
  addSecondReviewRoutes(api, deps);
  addReportRoutes(api, deps);
  addViewerRoutes(api, deps);
  addDocument(api);
  addOtherMethods(api);
  api.all('*', () => problem({ code: 'NOT_FOUND', detail: `There is no such path; see ${API_PATH}${DOCUMENT_PATH}.` }));
  return api;
}

const documentSchema = z.record(z.string(), z.unknown());

const documentRoute = createRoute({
  method: 'get',
  path: DOCUMENT_PATH,
  operationId: 'readDocument',
  tags: ['Document'],
  summary: 'This document',
  security: [],
  responses: answers({ description: 'OpenAPI 3.1.', content: jsonContent(documentSchema) }),
});

function addDocument(api: Api): void {
  api.openAPIRegistry.registerComponent('securitySchemes', 'bearerAuth', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token: holdpoint console token PERSON',
  });
  let text: Readonly<Record<string, unknown>> | null = null;
  api.openapi(documentRoute, () => answer(documentSchema, (text ??= { ...api.getOpenAPI31Document(ABOUT) })));
}

const ABOUT = {
  openapi: '3.1.0',
  info: {
    title: 'Holdpoint console',
    version: '1.0.0',
    description: 'What people do in the console, for programs of theirs: read approval requests, and decide them.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: API_PATH }],
  security: [{ bearerAuth: [] }],
};

/** A path that there is, with a method that it does not have. */
function addOtherMethods(api: Api): void {
  const allowed = new Map<string, string[]>();
  for (const { method, path } of api.routes) {
    allowed.set(path, [...(allowed.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  for (const [path, methods] of allowed) {
    const allow = [...new Set(methods)].join(', ');
    api.all(path, () => problem({ code: 'METHOD_NOT_ALLOWED', detail: `This path takes ${allow}.`, allow }));
  }
}
