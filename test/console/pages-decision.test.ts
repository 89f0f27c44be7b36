import type { Verdict, VerdictCode } from '../../core/decision';
import type { Decided, GivenDecision, RequestView } from '../../console/ports';
import { CSRF, pagesApp } from '../support/page-server';
import { DIGEST, OPERATION_ID, requestView } from '../support/request-views';

const FORM = { csrf: CSRF, decisionId: 'd-1', revision: '1', digest: DIGEST };
const ALLOW = { ...FORM, answer: 'allow', read: 'yes' };
const DENY = { ...FORM, answer: 'deny', reason: 'use the staging copy' };

interface Sent {
  readonly answer: Response;
  readonly page: string;
  readonly given: readonly GivenDecision[];
}

async function send(
  form: Readonly<Record<string, string>>,
  decided: Decided = { kind: 'notFound' },
  { view = requestView(), id = OPERATION_ID }: { view?: RequestView | null; id?: string } = {},
): Promise<Sent> {
  const given: GivenDecision[] = [];
  const app = pagesApp({
    request: async () => view,
    decide: async (_viewer, decision) => {
      given.push(decision);
      return decided;
    },
  });
  const answer = await app.request(`/requests/${id}/decision`, { method: 'POST', body: new URLSearchParams(form) });
  return { answer, page: await answer.text(), given };
}

function verdict(code: VerdictCode, more: Partial<Verdict> = {}): Decided {
  const about = { operationId: OPERATION_ID, revision: 1, state: null, decidedBy: [], counted: null };
  return { kind: 'verdict', verdict: { code, detail: 'the words of the ledger', ...about, ...more } };
}

describe('a decision', () => {
  it('goes on as exactly what the form names', async () => {
    const { given } = await send({ ...ALLOW, minutes: '15' });
    expect(given).toEqual([
      { operationId: OPERATION_ID, decisionId: 'd-1', revision: 1, digest: DIGEST, answer: 'allow', minutes: 15 },
    ]);
  });

  it('of a short id is one of its operation', async () => {
    const { given } = await send(DENY, undefined, { id: '7KQ2M4XB' });
    expect(given.map(({ operationId }) => operationId)).toEqual([OPERATION_ID]);
  });

  it('takes the line ends of a browser for line ends', async () => {
    const { given } = await send({ ...DENY, reason: ' one\r\ntwo \r\n' });
    expect(given.map(({ reason }) => reason)).toEqual(['one\ntwo']);
  });

  it('leaves an empty field out', async () => {
    const { given } = await send({ ...ALLOW, minutes: '', reason: '' });
    expect(Object.keys(given[0]!).sort()).toEqual(['answer', 'decisionId', 'digest', 'operationId', 'revision']);
  });

  it('that names another person is carried on as such, to be refused', async () => {
    const { given } = await send({ ...ALLOW, reviewer: 'eli' });
    expect(given.map(({ reviewer }) => reviewer)).toEqual(['eli']);
  });

  it.each([
    ['an allow without its box ticked', { ...FORM, answer: 'allow' }],
    ['an unknown field', { ...ALLOW, arguments: '{}' }],
    ['no decision id', { ...ALLOW, decisionId: '' }],
    ['another answer', { ...ALLOW, answer: 'maybe' }],
    ['a revision that is no number', { ...ALLOW, revision: '1e1' }],
    ['a digest that is none', { ...ALLOW, digest: 'sha256:1' }],
    ['minutes that are no number', { ...ALLOW, minutes: '-5' }],
    ['nothing', {}],
  ])('with %s is none', async (_what, form) => {
    const { answer, page, given } = await send(form);
    expect(answer.status).toBe(400);
    expect(page).toContain('Nothing was recorded.');
    expect(given).toEqual([]);
  });

  it('on a short id that the viewer does not see is not found', async () => {
    const { answer, given } = await send(ALLOW, undefined, { view: null, id: '7KQ2M4XB' });
    expect(answer.status).toBe(404);
    expect(given).toEqual([]);
  });
});

describe('the answer to a decision', () => {
  it.each([
    ['an allow that counts', ALLOW, 'accepted', 'allowed'],
    ['a denial that counts', DENY, 'accepted', 'denied'],
    ['the same answer as another gave before', ALLOW, 'alreadyDecided', 'already'],
  ] as const)('of %s leads back to the request', async (_what, form, code, said) => {
    const { answer } = await send(form, verdict(code));
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`/requests/${OPERATION_ID}?revision=1&said=${said}`);
  });

  it.each([
    ['conflict', 409],
    ['late', 409],
    ['stale', 409],
    ['unknownRequest', 409],
    ['notAReviewer', 403],
    ['selfApproval', 403],
    ['badSignature', 403],
    ['cannotWiden', 422],
    ['malformed', 400],
    ['tooLarge', 413],
    ['limit', 429],
  ] as const)('%s is %d, says that it does not count and why', async (code, status) => {
    const { answer, page } = await send(ALLOW, verdict(code));
    expect(answer.status).toBe(status);
    expect(page).toContain('Your allow does not count.');
    expect(page).toContain('The words of the ledger');
  });

  it('to another answer names who gave the first one [WEB-7]', async () => {
    const standing = { state: 'denied', level: 0, dueAtMs: null, closedAtMs: 1, closedReason: 'no' } as const;
    const decided = verdict('conflict', { detail: 'the request is denied by eli; that stands', decidedBy: ['eli'] });
    const { page } = await send(ALLOW, decided, { view: requestView({}, { standing }) });
    expect(page).toContain('The request is denied by eli; that stands');
    expect(page).toMatch(/The request now\s+is denied by <bdi class="named" dir="ltr">eli<\/bdi>/);
    expect(page).toContain(`href="/requests/${OPERATION_ID}">Read the request as it is now`);
  });

  it('to a revision that has been replaced leads to the new one [SCREEN-9]', async () => {
    const { page } = await send(ALLOW, verdict('stale'), { view: requestView({ revision: 2 }, { latestRevision: 2 }) });
    expect(page).toContain(`<a href="/requests/${OPERATION_ID}">Read revision 2</a>, then decide on that.`);
  });

  it('to somebody who may not see the request shows nothing of it', async () => {
    const { answer, page } = await send(ALLOW, verdict('notAReviewer'), { view: null });
    expect(answer.status).toBe(403);
    expect(page).not.toContain('apply_migration');
    expect(page).not.toContain('Decisions on record');
  });

  it('that was not recorded offers the same decision again, to the letter', async () => {
    const { answer, page } = await send({ ...DENY, reason: 'one\r\n"two"' }, verdict('notRecorded'));
    expect(answer.status).toBe(503);
    expect(page).toContain('it is the same decision and counts once');
    expect(page).toContain('name="decisionId" value="d-1"');
    expect(page).toContain('name="reason" value="one\n&quot;two&quot;"');
    expect(page).toContain('Send the same deny again');
    const allow = await send({ ...ALLOW, minutes: '5' }, verdict('notRecorded'));
    expect(allow.page).toContain('name="read" value="yes"');
    expect(allow.page).toContain('name="minutes" value="5"');
  });

  it.each([
    ['NOT_SHOWN', 409],
    ['OTHER_REVIEWER', 400],
    ['REASON_MISSING', 422],
  ] as const)('%s is %d, and nothing was recorded', async (code, status) => {
    const { answer, page } = await send(ALLOW, { kind: 'refused', code, detail: 'the words of the console' });
    expect(answer.status).toBe(status);
    expect(page).toContain('Nothing was recorded.');
    expect(page).toContain('The words of the console');
  });

  it('is the page of what does not exist where there is no such request [FORGE-3]', async () => {
    const { answer, page } = await send(ALLOW, { kind: 'notFound' });
    const none = await pagesApp({ request: async () => null }).request(`/requests/${OPERATION_ID}`);
    expect([answer.status, none.status]).toEqual([404, 404]);
    expect(page).toBe(await none.text());
  });
});
