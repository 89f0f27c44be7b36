import { request as httpRequest } from 'node:http';
import { answering, consoleApi, type ConsoleApi } from '../support/console-api';

let api: ConsoleApi;

beforeAll(async () => {
  api = await consoleApi();
});

afterAll(() => api.close());

const json = { authorization: 'dana', 'content-type': 'application/json' };
const path = `/requests/op_${'0'.repeat(40)}/decisions`;
const digest = `sha256:${'0'.repeat(64)}`;

it.each([
  [
    'an unknown key',
    { answer: 'allow', revision: 1, digest, arguments: {} },
    '/arguments',
    'it is not known here; leave it out',
  ],
  ['a missing member', { answer: 'allow', revision: 1 }, '/digest', 'it is missing; give a text'],
  ['another word', { answer: 'approve', revision: 1, digest }, '/answer', 'it must be one of allow, deny'],
  ['a text for a number', { answer: 'allow', revision: '1', digest }, '/revision', 'it must be a number'],
  ['no revision at all', { answer: 'allow', revision: 0, digest }, '/revision', 'it must be at least 1'],
  ['another digest', { answer: 'allow', revision: 1, digest: 'x' }, '/digest', 'a digest is sha256: and 64 hex digits'],
  ['half a minute', { answer: 'allow', revision: 1, digest, minutes: 0.5 }, '/minutes', 'it must be a whole number'],
  [
    'a long reason',
    { answer: 'deny', revision: 1, digest, reason: 'x'.repeat(4_001) },
    '/reason',
    'it must have at most 4000 characters',
  ],
  ['a list', [], '', 'it must be an object'],
  ['a name twice', `{"answer":"deny","answer":"allow","revision":1,"digest":"${digest}"}`, '', /answer/],
  ['no JSON', '{"answer":', '', /./],
  ['nothing', '', '', /./],
])('names the place in a body with %s, and its rule', async (_, body, field, rule) => {
  const answer = await api.as('dana').post(path, body);
  const detail: unknown = typeof rule === 'string' ? rule : expect.stringMatching(rule);
  expect([answer.status, answer.type]).toEqual([400, 'application/problem+json']);
  expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', status: 400, errors: [{ in: 'body', field, detail }] });
});

it.each([
  ['/requests?foo=1', '/foo'],
  ['/requests?state=open', '/state'],
  ['/requests?limit=0', '/limit'],
  ['/requests?limit=201', '/limit'],
  ['/requests?limit=5e1', '/limit'],
  ['/requests?limit=5&limit=6', '/limit'],
  ['/requests?mine=yes', '/mine'],
  ['/requests/abc?revision=1.5', '/revision'],
  ['/operations?server=x', '/server'],
  ['/grants?all=1', '/all'],
  ['/requests?a%2Fb~c=1', '/a~1b~0c'],
])('names the parameter of %s', async (given, field) => {
  const answer = await api.as('dana').get(given);
  expect([answer.status, answer.body]).toMatchObject([400, { errors: [{ in: 'query', field }] }]);
});

it.each(['/requests', '/operations'])('refuses a cursor of %s that was not given out', async (list) => {
  for (const cursor of ['x', '!!', 'WzEsIm9wXzEiXQ', 'a'.repeat(400)]) {
    const answer = await api.as('dana').get(`${list}?cursor=${cursor}`);
    expect([answer.status, answer.body]).toMatchObject([400, { code: 'INVALID_CURSOR' }]);
  }
});

it('answers an unknown path with 404, and another method of a known one with 405', async () => {
  for (const unknown of ['/', '/nothing', '/requests/a/b/c', '/requests/']) {
    const answer = await api.as('dana').get(unknown);
    expect([answer.status, answer.type]).toEqual([404, 'application/problem+json']);
  }
  const put = await api.send('PUT', path, { headers: json, body: '{}' });
  expect([put.status, put.headers.get('allow'), put.body]).toMatchObject([405, 'POST', { code: 'METHOD_NOT_ALLOWED' }]);
  const remove = await api.send('DELETE', '/requests', { headers: json });
  expect([remove.status, remove.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

it('changes nothing by GET and HEAD', async () => {
  const request = await api.ask();
  for (const method of ['GET', 'HEAD']) {
    const answer = await api.send(method, `/requests/${request.operationId}/decisions`, { headers: json });
    expect(answer.status).toBe(405);
  }
  const head = await api.send('HEAD', '/requests', { headers: json });
  expect([head.status, head.text]).toEqual([200, '']);
});

it.each([
  ['text/plain', 'application/json'],
  ['application/x-www-form-urlencoded', 'application/json'],
  ['application/json; charset=utf-16', 'application/json'],
  ['application/jsonx', 'application/json'],
])('takes no body of type %s', async (type) => {
  const answer = await api.as('dana').post(path, { answer: 'allow' }, { 'content-type': type });
  expect([answer.status, answer.body]).toMatchObject([415, { code: 'UNSUPPORTED_MEDIA_TYPE' }]);
});

it('takes no packed body, and none without a type', async () => {
  const packed = await api.as('dana').post(path, '{}', { 'content-encoding': 'gzip' });
  expect(packed.status).toBe(415);
  const untyped = await api.send('POST', path, {
    headers: { authorization: 'dana' },
    body: new Uint8Array([123, 125]),
  });
  expect(untyped.status).toBe(415);
});

it('takes no body that is not UTF-8', async () => {
  const answer = await api.send('POST', path, { headers: json, body: new Uint8Array([123, 34, 255, 34, 125]) });
  expect([answer.status, answer.body]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
});

it('takes 64 KiB of body and no more, with a length or in chunks', async () => {
  const padded = (bytes: number) => `{"answer":"allow"}${' '.repeat(bytes - 18)}`;
  expect((await api.as('dana').post(path, padded(65_536))).status).toBe(400);
  const over = await api.as('dana').post(path, padded(65_537));
  expect([over.status, over.body]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }]);
  expect(await chunked(padded(65_537))).toBe(413);
});

function chunked(body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(api.url + path, { method: 'POST', headers: json }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    for (let at = 0; at < body.length; at += 8_192) sent.write(body.slice(at, at + 8_192));
    sent.end();
  });
}

it('answers 503 with the store’s own words while the ledger is away, and is well when it is back', async () => {
  const request = await api.ask();
  api.store.down = true;
  const away = await api.as('dana').get('/requests');
  const decision = await api.as('dana').post(`/requests/${request.operationId}/decisions`, answering(request, 'allow'));
  api.store.down = false;
  for (const answer of [away, decision]) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(answer.body).toMatchObject({
      code: 'UNAVAILABLE',
      cause: 'LEDGER_UNREACHABLE',
      detail:
        'The ledger test cannot be reached: cut off. Nothing of this step was recorded and nothing runs; start it or correct its address, then try again.',
    });
  }
  expect((await api.as('dana').get('/requests')).status).toBe(200);
});

it('logs what nobody expected, and says nothing of it', async () => {
  const request = await api.ask();
  const { decide } = api;
  api.decide = () => Promise.reject(new Error('a secret of the inside'));
  const answer = await api.as('dana').post(`/requests/${request.operationId}/decisions`, answering(request, 'allow'));
  api.decide = decide;
  expect([answer.status, answer.body]).toMatchObject([500, { code: 'INTERNAL' }]);
  expect(answer.text).not.toContain('secret of the inside');
  expect(api.log.entries.at(-1)).toMatchObject({ level: 'error', event: 'console.api.failed' });
  expect(JSON.stringify(api.log.entries.at(-1))).toContain('a secret of the inside');
});
