import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEMS } from '../../console/api/problem-codes';
import { faultsOf } from '../support/answers-as-documented';
import { consoleApi, type ConsoleApi } from '../support/console-api';

let api: ConsoleApi;

beforeAll(async () => {
  api = await consoleApi();
});

afterAll(() => api.close());

type Operation = { readonly operationId: string; readonly security?: unknown };

function operations(): readonly (readonly [string, Operation])[] {
  const paths = api.document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  );
}

it('is a valid OpenAPI 3.1 document', () => {
  expect(api.document['openapi']).toBe('3.1.0');
  expect(faultsOf(api.document)).toEqual([]);
  expect(faultsOf({ ...api.document, info: {} })).not.toEqual([]);
});

it('documents every route, each with an id of its own', () => {
  expect(operations().map(([place, { operationId }]) => `${place} ${operationId}`)).toEqual([
    'GET /requests listRequests',
    'GET /requests/{id} readRequest',
    'POST /requests/{id}/decisions decide',
    'GET /operations listOperations',
    'GET /operations/{id} readOperation',
    'POST /operations/{id}/settlement settle',
    'POST /operations/{id}/reversal reportReversal',
    'GET /grants listGrants',
    'POST /grants/{id}/revocation revokeGrant',
    'GET /retrospectives listRetrospectives',
    'POST /retrospectives/{id}/review closeRetrospective',
    'GET /second-reviews listSecondReviews',
    'POST /operations/{id}/second-review giveSecondReview',
    'GET /reports readReports',
    'GET /me readViewer',
    'GET /events followChanges',
    'GET /openapi.json readDocument',
  ]);
});

it('needs a token for everything but the document itself', () => {
  expect(api.document['security']).toEqual([{ bearerAuth: [] }]);
  const open = operations().filter(([, operation]) => operation.security !== undefined);
  expect(open.map(([place]) => place)).toEqual(['GET /openapi.json']);
});

it('names every code of a problem in docs/console-api.md, with its status', () => {
  const page = readFileSync(join(__dirname, '../../docs/console-api.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `\w+` \| \d{3} \|/.test(line));
  const listed = rows.map((row) => /^\| `(\w+)` \| (\d{3}) \|/.exec(row)!.slice(1, 3).join(' '));
  expect(listed).toEqual(Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`));
});
