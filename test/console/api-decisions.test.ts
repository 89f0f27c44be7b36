import { factsOf, decisionsOn } from '../../ledger/queries';
import { CONSOLE_POLICY, answering, consoleApi, type ConsoleApi } from '../support/console-api';
import { askOf } from '../support/ledger-fixture';
import { MINUTE_MS, testClock } from '../support/clock';

const clock = testClock();
let api: ConsoleApi;

beforeAll(async () => {
  api = await consoleApi({ clock: clock.nowMs });
});

afterAll(() => api.close());

afterEach(() => api.apply(CONSOLE_POLICY));

async function kindsOf(operationId: string): Promise<readonly string[]> {
  return (await factsOf(api.store.db, operationId)).map(({ kind }) => kind);
}

async function stateOf(id: string): Promise<unknown> {
  return (await api.as('omar').get(`/requests/${id}`)).body;
}

const decisions = (id: string) => `/requests/${id}/decisions`;

it('counts an allow that names what was read, and answers the verdict', async () => {
  const request = await api.ask();
  const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    code: 'accepted',
    detail: 'allowed',
    operationId: request.operationId,
    revision: 1,
    state: 'allowed',
    decidedBy: ['dana'],
    counted: null,
  });
  const [decision] = await decisionsOn(api.store.db, request.operationId);
  expect(decision).toMatchObject({ reviewer: 'dana', channel: 'console', verified: true });
});

it('takes the short id of a request as well', async () => {
  const request = await api.ask();
  const answer = await api.as('dana').post(decisions(request.shortId), answering(request, 'deny'));
  expect(answer.body).toMatchObject({ code: 'accepted', state: 'denied' });
});

it('gives the same answer to the same decision again, and 409 with the first one to another [WEB-7]', async () => {
  const request = await api.ask();
  const path = decisions(request.operationId);
  const first = await api.as('dana').post(path, answering(request, 'allow'));
  const again = await api.as('dana').post(path, answering(request, 'allow'));
  expect(again.text).toBe(first.text);
  const deny = await api.as('dana').post(path, answering(request, 'deny'));
  expect(deny.status).toBe(409);
  expect(deny.body).toMatchObject({ code: 'conflict', state: 'allowed', decidedBy: ['dana'] });
  const other = await api.as('eli').post(path, answering(request, 'allow'));
  expect(other.body).toMatchObject({ code: 'alreadyDecided', decidedBy: ['dana'] });
  expect(await kindsOf(request.operationId)).toEqual([
    'call.proposed',
    'request.opened',
    'request.allowed',
    'grant.issued',
    'decision.recorded',
    'decision.repeated',
    'decision.notCounted',
    'decision.notCounted',
  ]);
});

it('refuses a body that names another person, and records nothing [FORGE-4]', async () => {
  const request = await api.ask();
  const before = await kindsOf(request.operationId);
  const body = answering(request, 'allow', { reviewer: 'dana' });
  const answer = await api.as('eli').post(decisions(request.operationId), body);
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ code: 'OTHER_REVIEWER', errors: [{ in: 'body', field: '/reviewer' }] });
  expect(await kindsOf(request.operationId)).toEqual(before);
  const own = await api.as('dana').post(decisions(request.operationId), body);
  expect(own.body).toMatchObject({ code: 'accepted', decidedBy: ['dana'] });
});

it('does not count the allow of who may see it but is in no approver group; it stays pending [FORGE-6]', async () => {
  const request = await api.ask();
  for (const name of ['omar', 'amira'] as const) {
    const answer = await api.as(name).post(decisions(request.operationId), answering(request, 'allow'));
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'notAReviewer', state: null, decidedBy: [], counted: null });
  }
  expect(await stateOf(request.operationId)).toMatchObject({ standing: { state: 'pending' }, people: { allows: 0 } });
  const eli = await api.as('eli').post(decisions(request.operationId), answering(request, 'allow'));
  expect(eli.body).toMatchObject({ code: 'accepted', decidedBy: ['eli'] });
});

it('answers a stranger as if there were no request, and puts the attempt on record [FORGE-3]', async () => {
  const request = await api.ask();
  const missing = `op_${'0'.repeat(40)}`;
  const attempts = [
    answering(request, 'allow'),
    answering(request, 'deny'),
    answering({ ...request, revision: 7 }, 'allow'),
    answering({ ...request, bindingDigest: `sha256:${'0'.repeat(64)}` }, 'allow'),
  ];
  for (const attempt of attempts) {
    const theirs = await api.as('vik').post(decisions(request.operationId), attempt);
    const none = await api.as('vik').post(decisions(missing), attempt);
    expect(theirs.status).toBe(404);
    expect(theirs.text).toBe(none.text);
  }
  const facts = await factsOf(api.store.db, request.operationId);
  expect(facts.at(-1)).toMatchObject({ kind: 'decision.notCounted', body: { reviewer: 'vik', code: 'notAReviewer' } });
  expect(await stateOf(request.operationId)).toMatchObject({ standing: { state: 'pending' } });
});

it('refuses an allow of the person behind the request, posted past the page [FORGE-9]', async () => {
  const requester = { subject: 'user:dana', agent: 'bot', chain: [] };
  const request = await api.ask({ requester });
  const seen = await api.as('dana').get(`/requests/${request.operationId}`);
  expect(seen.body).toMatchObject({ mayAllow: { ok: false, code: 'selfApproval' }, mayDeny: { ok: true } });
  const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
  expect(answer.status).toBe(403);
  expect(answer.body).toMatchObject({ code: 'selfApproval', state: 'pending' });
  const deny = await api.as('dana').post(decisions(request.operationId), answering(request, 'deny'));
  expect(deny.body).toMatchObject({ code: 'accepted', state: 'denied' });
});

it.each([
  // On escalation they would be asked, so they still see it.
  { groups: ['dba-leads'], status: 403, code: 'notAReviewer' },
  { groups: [], status: 404, code: 'NOT_FOUND' },
])('reads who is a reviewer at the decision, not at the page: left with $groups [FORGE-12]', async (left) => {
  const request = await api.ask({ requester: { subject: `user:${left.status}`, agent: 'bot', chain: [] } });
  const seen = await api.as('eli').get(`/requests/${request.operationId}`);
  expect(seen.body).toMatchObject({ mayAllow: { ok: true } });
  const eli = { ...CONSOLE_POLICY.people['eli']!, groups: left.groups };
  await api.apply({ ...CONSOLE_POLICY, people: { ...CONSOLE_POLICY.people, eli } });
  const answer = await api.as('eli').post(decisions(request.operationId), answering(request, 'allow'));
  expect([answer.status, answer.body]).toMatchObject([left.status, { code: left.code }]);
  const facts = await factsOf(api.store.db, request.operationId);
  expect(facts.at(-1)).toMatchObject({ kind: 'decision.notCounted', body: { reviewer: 'eli', code: 'notAReviewer' } });
  expect(await stateOf(request.operationId)).toMatchObject({ standing: { state: 'pending' } });
});

it('counts one allow of two, and one person once', async () => {
  const request = await api.ask({ ask: askOf({ quorum: 2 }) });
  const path = decisions(request.operationId);
  const dana = await api.as('dana').post(path, answering(request, 'allow'));
  expect(dana.body).toMatchObject({ code: 'accepted', state: 'pending', counted: { allows: 1, needed: 2 } });
  const again = await api.as('dana').post(path, answering(request, 'allow'));
  expect(again.text).toBe(dana.text);
  const eli = await api.as('eli').post(path, answering(request, 'allow'));
  expect(eli.body).toMatchObject({ code: 'accepted', state: 'allowed', decidedBy: ['dana', 'eli'] });
});

it('answers an allow after the deadline as late, and the request is expired [TIME2-1]', async () => {
  const request = await api.ask();
  clock.advance(31 * MINUTE_MS);
  const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
  expect(answer.status).toBe(409);
  expect(answer.body).toMatchObject({ code: 'late', state: 'expired', decidedBy: [] });
  expect(await stateOf(request.operationId)).toMatchObject({ standing: { state: 'expired' }, decisions: [] });
});

it('answers a decision on another digest as stale', async () => {
  const request = await api.ask();
  const body = answering({ ...request, bindingDigest: `sha256:${'0'.repeat(64)}` }, 'allow');
  const answer = await api.as('dana').post(decisions(request.operationId), body);
  expect([answer.status, answer.body]).toMatchObject([409, { code: 'stale', state: 'pending' }]);
});

it('answers a revision that was never opened as unknown', async () => {
  const request = await api.ask();
  const body = answering({ ...request, revision: 2 }, 'allow');
  const answer = await api.as('dana').post(decisions(request.operationId), body);
  expect([answer.status, answer.body]).toMatchObject([409, { code: 'unknownRequest' }]);
});

it('does not let a reviewer widen what the rule gives', async () => {
  const request = await api.ask();
  const body = answering(request, 'allow', { minutes: 60 });
  const answer = await api.as('dana').post(decisions(request.operationId), body);
  expect([answer.status, answer.body]).toMatchObject([422, { code: 'cannotWiden', state: 'pending' }]);
});

it.each([{}, { reason: '' }, { reason: ' \n' }])('refuses a denial without a reason: %j', async ({ reason }) => {
  const request = await api.ask({ requester: { subject: `user:${String(reason)}`, agent: 'bot', chain: [] } });
  const body = { answer: 'deny', revision: 1, digest: request.bindingDigest, ...(reason !== undefined && { reason }) };
  const answer = await api.as('dana').post(decisions(request.operationId), body);
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ code: 'REASON_MISSING', errors: [{ in: 'body', field: '/reason' }] });
});

describe('an idempotency key', () => {
  const key = { 'idempotency-key': 'a-key-of-mine' };
  const idsOf = async (operationId: string) =>
    (await factsOf(api.store.db, operationId)).flatMap(({ body }) => body['decisionId'] ?? []);

  it('makes the same decision the same, and is its person’s own', async () => {
    const request = await api.ask({ ask: askOf({ quorum: 2 }) });
    const path = decisions(request.operationId);
    for (const name of ['dana', 'dana', 'eli'] as const) {
      await api.as(name).post(path, answering(request, 'allow'), key);
    }
    const ids = await idsOf(request.operationId);
    expect(ids).toHaveLength(3);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('with another content is another decision, which is judged', async () => {
    const request = await api.ask();
    const path = decisions(request.operationId);
    await api.as('dana').post(path, answering(request, 'allow'), key);
    const deny = await api.as('dana').post(path, answering(request, 'deny'), key);
    expect([deny.status, deny.body]).toMatchObject([409, { code: 'conflict', decidedBy: ['dana'] }]);
    const [first, second] = await idsOf(request.operationId);
    expect(second).not.toBe(first);
  });

  it('is made up where none is given, another one each time', async () => {
    const request = await api.ask();
    const path = decisions(request.operationId);
    await api.as('dana').post(path, answering(request, 'allow'));
    await api.as('dana').post(path, answering(request, 'allow'));
    expect(new Set(await idsOf(request.operationId)).size).toBe(2);
  });

  it.each([
    ['a blank', 'a b'],
    ['201 characters', 'x'.repeat(201)],
    ['a letter beyond ASCII', 'schlüssel'],
  ])('is refused with %s', async (_, given) => {
    const request = await api.ask({ requester: { subject: `user:${given}`, agent: 'bot', chain: [] } });
    const headers = { 'idempotency-key': given };
    const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'), headers);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ errors: [{ in: 'header', field: '/Idempotency-Key' }] });
  });
});

it.each([
  ['notRecorded', 503, '2'],
  ['limit', 429, '2'],
  ['tooLarge', 413, null],
  ['malformed', 422, null],
  ['badSignature', 403, null],
] as const)('answers the verdict %s with %i', async (code, status, retryAfter) => {
  const request = await api.ask({ requester: { subject: `user:${code}`, agent: 'bot', chain: [] } });
  const { decide } = api;
  api.decide = async () => ({
    ...{ code, detail: 'as the turn says', operationId: null, revision: null },
    ...{ state: null, decidedBy: [], counted: null },
  });
  const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
  api.decide = decide;
  expect(answer.status).toBe(status);
  expect(answer.headers.get('retry-after')).toBe(retryAfter);
  expect(answer.body).toMatchObject({
    code,
    detail: 'as the turn says',
    type: `tag:holdpoint.dev,2026:problem/${code}`,
  });
});

describe('where the rule asks for a fresh sign-in', () => {
  const asking = (acr: readonly string[] | null) =>
    api.ask({ ask: { ...askOf(), signIn: { withinMs: 5 * MINUTE_MS, acr } } });
  const CHALLENGE =
    'Bearer error="insufficient_user_authentication", error_description="The rule asks for a newer or stronger sign-in", max_age="300"';

  it('an allow by a token is 403 with the challenge of RFC 9470: a token has no sign-in. A denial counts', async () => {
    const request = await asking(['phr', 'phrh']);
    const path = decisions(request.operationId);
    const { status, body, headers } = await api.as('dana').post(path, answering(request, 'allow'));
    expect([status, headers.get('www-authenticate')]).toEqual([403, `${CHALLENGE}, acr_values="phr phrh"`]);
    expect(body).toMatchObject({
      code: 'signInNeeded',
      title: 'The rule asks for a newer or stronger sign-in',
      detail: expect.stringContaining('the console attests none: an API token has none') as string,
      state: 'pending',
    });
    expect(await kindsOf(request.operationId)).toEqual(['call.proposed', 'request.opened', 'decision.notCounted']);
    expect((await api.as('dana').post(path, answering(request, 'deny'))).body).toMatchObject({ state: 'denied' });
  });

  it('the request says what is asked, and that the viewer’s own allow would not count', async () => {
    const request = await asking(null);
    expect(await api.as('dana').get(`/requests/${request.operationId}`)).toMatchObject({
      body: {
        request: { ask: { signIn: { withinMs: 300_000, acr: null } } },
        mayAllow: { ok: false, code: 'signInNeeded' },
        mayDeny: { ok: true },
      },
    });
    const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
    expect(answer.headers.get('www-authenticate')).toBe(CHALLENGE);
  });

  it('that nobody can have, nobody is challenged for one', async () => {
    const request = await asking([]);
    const answer = await api.as('dana').post(decisions(request.operationId), answering(request, 'allow'));
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([403, null]);
    expect(answer.body).toMatchObject({ detail: expect.stringMatching(/^nobody can allow this/) as string });
  });
});
