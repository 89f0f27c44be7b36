import fc from 'fast-check';
import { answering, consoleApi, type ConsoleApi } from '../support/console-api';

let api: ConsoleApi;
let operationId: string;
let shortId: string;
let good: Readonly<Record<string, unknown>>;

beforeAll(async () => {
  api = await consoleApi();
  const request = await api.ask();
  ({ operationId, shortId } = request);
  good = answering(request, 'allow');
});

afterAll(() => api.close());

const weird = fc.oneof(
  fc.string({ maxLength: 40, unit: 'binary' }).filter((text) => !/\p{Cs}/u.test(text)),
  fc.constantFrom('', '0', '-1', 'null', '../', '%', '%E0%A4%A', '__proto__', 'constructor', '\u0000', 'op_', '⟦'),
);

const often = <A, B>(usual: fc.Arbitrary<A>, unusual: fc.Arbitrary<B>): fc.Arbitrary<A | B> =>
  fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: unusual });

const id = often(
  fc.constantFrom('OPERATION', 'SHORT'),
  fc.oneof(weird.map(encodeURIComponent), fc.constantFrom('%', '%E0%A4%A', '%00', '..%2f', 'op_%')),
);

const reads = fc.oneof(
  fc.constantFrom('/requests', '/operations', '/grants', '/retrospectives', '/second-reviews', '/reports'),
  fc.constantFrom('/me', '/openapi.json', '', '/nothing'),
  id.map((name) => `/requests/${name}`),
  id.map((name) => `/operations/${name}`),
);

const writes = fc.oneof(
  id.map((name) => `/requests/${name}/decisions`),
  id.map((name) => `/operations/${name}/settlement`),
  id.map((name) => `/operations/${name}/reversal`),
  id.map((name) => `/operations/${name}/second-review`),
  id.map((name) => `/retrospectives/${name}/review`),
  id.map((name) => `/grants/${name}/revocation`),
);

const anyMethod = fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');
const places = fc.oneof(
  fc.record({ method: often(fc.constant('GET'), anyMethod), path: reads }),
  fc.record({ method: often(fc.constant('POST'), anyMethod), path: writes }),
);

const names = ['state', 'server', 'tool', 'requester', 'mine', 'cursor', 'limit', 'revision', 'all', 'x'];
const queries = fc.array(fc.tuple(fc.constantFrom(...names), weird), { maxLength: 3 });

const members = [
  'answer',
  'revision',
  'digest',
  'reason',
  'minutes',
  'reviewer',
  'outcome',
  'finding',
  'note',
  '__proto__',
  'x',
];
const values = fc.oneof(weird, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('allow', 'deny', 1, 2, null));
const mutations = fc.array(fc.tuple(fc.constantFrom(...members), values), { maxLength: 2 });
const bodies = often(
  mutations.map((list) => ({ mutate: list })),
  fc.oneof(weird, fc.json()).map((raw) => ({ raw })),
);

const requests = fc.record({
  place: places,
  query: often(fc.constant<[string, string][]>([]), queries),
  body: bodies,
  type: often(
    fc.constant('application/json'),
    fc.constantFrom('', 'text/plain', 'application/json;charset=utf-8', 'multipart/form-data', 'application/xml'),
  ),
  key: often(
    fc.constant(null),
    fc.string({ maxLength: 210 }).map((text) => text.replace(/[^\x20-\x7e]/g, '~')),
  ),
  person: often(fc.constantFrom('dana', 'eli', 'omar'), fc.constantFrom('amira', 'vik', 'nobody')),
});

type Fuzzed = typeof requests extends fc.Arbitrary<infer T> ? T : never;

function bodyOf({ place: { method, path }, body }: Fuzzed): string | null {
  if (method === 'GET' || method === 'HEAD') return null;
  if ('raw' in body) return body.raw;
  const reason = 'looked at by hand';
  const usual = {
    decisions: good,
    settlement: { outcome: 'executed', reason },
    review: { finding: 'justified', note: reason },
    'second-review': { revision: 1, answer: 'allow' },
  }[path.split('/').at(-1) ?? ''] ?? { reason };
  return JSON.stringify({ ...usual, ...Object.fromEntries(body.mutate) });
}

async function send(fuzzed: Fuzzed) {
  const { method } = fuzzed.place;
  const path = fuzzed.place.path.replace('OPERATION', operationId).replace('SHORT', shortId);
  const query = fuzzed.query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const headers = {
    authorization: fuzzed.person,
    ...(fuzzed.type !== '' && { 'content-type': fuzzed.type }),
    ...(fuzzed.key !== null && { 'idempotency-key': fuzzed.key }),
  };
  // It is checked against the document, wherever that has such a path.
  return api.send(method, query === '' ? path : `${path}?${query}`, { headers, body: bodyOf(fuzzed) });
}

it('answers 2,000 mutated requests as documented, every error as a problem, and none with 500', async () => {
  const met = new Set<string>();
  const property = fc.asyncProperty(fc.array(requests, { minLength: 20, maxLength: 20 }), async (batch) => {
    const answers = await Promise.all(batch.map(send));
    for (const [index, { status, type }] of answers.entries()) {
      const method = batch[index]?.place.method ?? '';
      met.add(`${method} ${status}`);
      expect(status).not.toBe(500);
      if (status >= 400 && method !== 'HEAD') expect(type).toBe('application/problem+json');
    }
  });
  await fc.assert(property, { numRuns: 100, seed: 20_261_201 });
  expect(api.log.entries.filter(({ level }) => level === 'error')).toEqual([]);
  // It came as far as good answers, and as refusals of each kind.
  for (const status of [200, 400, 401, 403, 404, 409, 415]) expect(met).toContain(`POST ${status}`);
  for (const status of [200, 400, 401, 404, 405]) expect(met).toContain(`GET ${status}`);
});
