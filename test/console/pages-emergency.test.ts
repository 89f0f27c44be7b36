import { factDetails, factWords } from '../../console/pages/fact-words';
import type { Decided, EmergencyOffer, RequestView, RetrospectivesView, Reviews } from '../../console/ports';
import type { VerdictCode } from '../../core/decision';
import type { DecisionRecord } from '../../ledger/queries';
import { CSRF, pagesApp } from '../support/page-server';
import { DIGEST, NOW_MS, OPERATION_ID, requestView } from '../support/request-views';

const HOUR_MS = 3_600_000;

const OFFER: EmergencyOffer = {
  rule: 'break-glass',
  ask: {
    ...requestView().request.ask,
    rule: { id: 'break-glass', version: 'v1' },
    steps: [{ kind: 'rule', approvers: { groups: ['oncall'], people: [], quorum: 1 }, selfApproval: false }],
    emergency: true,
  },
  skipped: ['eli', 'fay', 'lena'],
  reviewers: ['eli', 'fay'],
  reviewWithinMs: 8 * HOUR_MS,
  overdue: null,
  may: { ok: true },
};

const OVERDUE = { grantId: 'gr_1.1', dueAtMs: NOW_MS - 60_000, isTheirs: true } as const;
const BLOCKED = { ok: false, code: 'emergencyRefused', detail: 'the review of emergency gr_1.1 is overdue' } as const;

const offering = (more: Partial<EmergencyOffer> = {}, around: Partial<RequestView> = {}): RequestView =>
  requestView({}, { emergencies: [{ ...OFFER, ...more }], ...around });

async function pageOf(view: RequestView): Promise<string> {
  return text(await pagesApp({ request: async () => view }).request('/requests/x'));
}

/** In one line, as a browser reads it. */
async function text(answer: Response): Promise<string> {
  return (await answer.text()).replace(/\s+/g, ' ');
}

const plain = (page: string) => page.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');

describe('what a request says to those whom an emergency rule names', () => {
  it('is folded away: whom it skips, what it permits, who reviews it until when', async () => {
    const page = await pageOf(offering());
    expect(page).toContain('<details class="emergency"> <summary>');
    const said = plain(page);
    expect(said).toContain('1 of oncall may allow in place of 1 of dba.');
    expect(said).toContain('That permits this one operation, once, within 15 min of the allow, and is on record');
    expect(said).toContain('It skips eli, fay, lena, who are told at once.');
    expect(said).toContain('One of eli, fay has to review it within 8 h:');
  });

  it('comes after the ordinary answers, and has a decision id of its own', async () => {
    const page = await pageOf(offering());
    expect(page.indexOf('Deny</button>')).toBeLessThan(page.indexOf('<details class="emergency">'));
    const ids = [...page.matchAll(/name="decisionId" value="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(3);
  });

  it('names a window by its own time', async () => {
    const validity = { kind: 'window', uses: null, durationMs: 600_000, total: {} } as const;
    const said = plain(await pageOf(offering({ ask: { ...OFFER.ask, validity } })));
    expect(said).toContain('That permits any number of uses within 10 min of calls with the same material fields');
    expect(said).not.toContain('within 15 min');
  });

  it('is a link to the review in place of the form, while one is overdue [TIME2-15]', async () => {
    const page = await pageOf(offering({ overdue: OVERDUE, may: BLOCKED }));
    expect(page).toContain('<a href="/retrospectives#gr_1.1">the review of an earlier emergency</a> is overdue since');
    expect(page).not.toContain('name="ticket"');
  });

  it('leads nobody to a review that they may not see', async () => {
    const page = await pageOf(offering({ overdue: { ...OVERDUE, isTheirs: false }, may: BLOCKED }));
    expect(page).toContain('<code>gr_1.1</code>, which is none that you may see, is overdue since');
    expect(page).not.toContain('/retrospectives#');
  });

  it('says what its rule asks of a sign-in, and leads to a new one in place of the form', async () => {
    const ask = { ...OFFER.ask, signIn: { withinMs: 60_000, acr: null } };
    const may = { ok: false, code: 'signInNeeded', detail: 'this one is 1 h old; sign in again' } as const;
    const page = await pageOf(offering({ ask, may }));
    expect(plain(page)).toContain('Here, allowing needs a sign-in of the last 1 min.');
    expect(page).toContain(
      `<a href="/sign-in?to=%2Frequests%2F${OPERATION_ID}&amp;fresh=1">Sign in again to allow</a>`,
    );
    expect(page).not.toContain('name="ticket"');
  });

  it('gives another reason where that is why it cannot be used', async () => {
    const may = { ok: false, code: 'conflict', detail: 'you allowed this before' } as const;
    const page = plain(await pageOf(offering({ overdue: OVERDUE, may })));
    expect(page).toContain('You cannot use it now: you allowed this before.');
  });

  it('is nothing on a revision that was replaced', async () => {
    expect(await pageOf(offering({}, { latestRevision: 2 }))).not.toContain('In an emergency');
  });
});

const FORM = {
  ...{ csrf: CSRF, decisionId: 'd-1', revision: '1', digest: DIGEST, answer: 'allow', read: 'yes' },
  ...{ rule: 'break-glass', ticket: 'INC-7', reason: 'down &\n"out"' },
};

function refused(code: VerdictCode): Decided {
  const about = { operationId: OPERATION_ID, revision: 1, state: 'pending', decidedBy: [], counted: null } as const;
  return { kind: 'verdict', verdict: { code, detail: 'an emergency needs the id of its ticket', ...about } };
}

const send = (view: RequestView | null, code: VerdictCode = 'emergencyRefused') =>
  pagesApp({ request: async () => view, decide: async () => refused(code) }).request(
    `/requests/${OPERATION_ID}/decision`,
    { method: 'POST', body: new URLSearchParams(FORM) },
  );

describe('an emergency that is refused', () => {
  it('gives its form back with what was typed, as another decision, with what would run, not ticked', async () => {
    const answer = await send(offering());
    expect(answer.status).toBe(422);
    const page = await answer.text();
    expect(page).toContain('An emergency needs the id of its ticket');
    expect(page).toContain('value="INC-7"');
    expect(page).toMatch(/<textarea[^>]*>\ndown &amp;\n&quot;out&quot;<\/textarea>/);
    expect(page).toContain('ADD COLUMN delivered_at');
    expect(page).not.toContain('checked');
    const [, id] = /name="decisionId" value="([^"]*)"/.exec(page) ?? [];
    expect(id).toMatch(/^[0-9a-f-]{36}-break-glass$/);
  });

  it.each([
    ['where the request has changed', requestView({ bindingDigest: `sha256:${'b2'.repeat(32)}` })],
    ['where another revision is the latest', requestView({}, { latestRevision: 2 })],
    ['where a review is overdue', offering({ overdue: OVERDUE, may: BLOCKED })],
  ])('%s says what was typed, and has no form', async (_where, view) => {
    const shown = view.emergencies.length > 0 ? view : { ...view, emergencies: [OFFER] };
    const page = await text(await send(shown));
    expect(page).toContain('What you wrote: <bdi class="given" dir="ltr">INC-7</bdi>');
    expect(page).not.toContain('name="ticket"');
  });

  it('is given back in words where its form cannot be read', async () => {
    const unread = new URLSearchParams({ ...FORM, read: '' });
    const answer = await pagesApp({}).request(`/requests/${OPERATION_ID}/decision`, { method: 'POST', body: unread });
    expect(answer.status).toBe(400);
    expect(await text(answer)).toContain('What you wrote: <bdi class="given" dir="ltr">INC-7</bdi>');
  });

  it('that was not recorded offers the same decision again, and no other', async () => {
    const page = await text(await send(offering(), 'notRecorded'));
    expect([...page.matchAll(/name="decisionId" value="([^"]*)"/g)].map(([, id]) => id)).toEqual(['d-1']);
    expect(page).toContain('name="ticket" value="INC-7"');
  });
});

describe('what was decided in an emergency', () => {
  it('is marked among the decisions', async () => {
    const decision: DecisionRecord = {
      ...{ decisionId: 'd', revision: 1, reviewer: 'olu', reason: 'down', channel: 'console', verified: true },
      ...{ answer: 'allow', minutes: null, emergency: 'break-glass', atMs: NOW_MS },
    };
    const said = plain(await pageOf(requestView({}, { decisions: [decision] })));
    expect(said).toContain('Allowed by olu as an emergency, under rule break-glass');
    const usual = plain(await pageOf(requestView({}, { decisions: [{ ...decision, emergency: null }] })));
    expect(usual).not.toContain('as an emergency');
  });

  it.each([
    [
      'decision.recorded',
      { reviewer: 'olu', answer: 'allow', emergency: { rule: 'break-glass', ticket: 'INC-7' } },
      'An allow under an emergency rule was recorded and counts',
      'reviewer olu, answer allow, rule break-glass, ticket INC-7',
    ],
    [
      'decision.notCounted',
      { reviewer: 'olu', code: 'emergencyRefused', emergency: { rule: 'nil', ticket: '' } },
      'An answer under an emergency rule came that does not count',
      'reviewer olu, code emergencyRefused, rule nil',
    ],
    [
      'decision.recorded',
      { reviewer: 'eli', answer: 'deny' },
      'A decision was recorded and counts',
      'reviewer eli, answer deny',
    ],
    [
      'retrospective.opened',
      { grantId: 'g', rule: 'break-glass', ticket: 'INC-7', reason: 'down', skipped: ['eli', 'fay'], dueAtMs: NOW_MS },
      'It was an emergency: who was skipped was told, and its review was opened',
      'ticket INC-7, reason down, rule break-glass, skipped eli, fay, to be reviewed until 2027-01-15 08:00:00 UTC',
    ],
    [
      'retrospective.closed',
      { by: 'eli', finding: 'notJustified', note: 'it could have waited' },
      'The review of the emergency was closed',
      'by eli, finding not justified, note it could have waited',
    ],
  ])('%s stands in the story of its operation', (kind, body, words, details) => {
    expect(factWords({ kind, body })).toBe(words);
    const told = factDetails({ kind, body }).map((pair) => pair.join(' '));
    expect(told.join(', ')).toBe(details);
  });
});

describe('the emergencies', () => {
  const emergency: RetrospectivesView['emergencies'][number] = {
    ...{ grantId: 'gr_1.1', operationId: OPERATION_ID, revision: 1, server: 'orders-db', tool: 'apply_migration' },
    request: requestView().request,
    ...{ rule: 'break-glass', ticket: 'INC-7', reason: 'down', deciders: ['olu'], skipped: ['eli', 'fay'] },
    ...{
      uses: 1,
      openedAtMs: NOW_MS - 9 * HOUR_MS,
      dueAtMs: NOW_MS - HOUR_MS,
      closed: null,
      mayReview: false,
      mayRead: true,
    },
  };
  const listed = async (more: Partial<typeof emergency> = {}) =>
    text(
      await pagesApp({
        retrospectives: async () => ({ emergencies: [{ ...emergency, ...more }], nowMs: NOW_MS }),
      }).request('/retrospectives'),
    );

  it('says in words what is overdue, and what that means', async () => {
    const said = plain(await listed());
    expect(said).toContain('review overdue, 1 h ago');
    expect(said).toContain('A review is overdue. Until it is closed, the next emergency is refused.');
    expect(plain(await listed({ dueAtMs: NOW_MS + HOUR_MS }))).not.toContain('overdue');
  });

  it('leads to the request and the operation only where the viewer may read them', async () => {
    expect(await listed()).toContain(`href="/operations/${OPERATION_ID}"`);
    expect(await listed({ mayRead: false })).not.toContain(OPERATION_ID);
  });

  it('has the form for those who may review, and for nobody else', async () => {
    expect(await listed()).not.toContain('name="finding"');
    expect(await listed({ mayReview: true })).toContain('action="/retrospectives/gr_1.1/review"');
  });

  const close = (closeRetrospective: Reviews['closeRetrospective']) =>
    pagesApp({ closeRetrospective }).request('/retrospectives/gr_1.1/review', {
      method: 'POST',
      body: new URLSearchParams({ csrf: CSRF, finding: 'justified', note: 'the replica was gone' }),
    });

  it('leads back to the review that was closed', async () => {
    const answer = await close(async () => ({ ok: true }));
    expect(answer.headers.get('location')).toBe('/retrospectives?all=1&said=gr_1.1#gr_1.1');
  });

  it('gives the note back where the review was closed before', async () => {
    const answer = await close(async () => ({ ok: false, detail: 'too late: fay found it justified before' }));
    expect(answer.status).toBe(409);
    expect(await text(answer)).toContain('What you wrote: <bdi class="given" dir="ltr">the replica was gone</bdi>');
  });

  it('is the page of what does not exist where there is none for the viewer', async () => {
    expect((await close(async () => null)).status).toBe(404);
  });
});

it('a second review that is done leads to its request only where the viewer may read that', async () => {
  const second = { answer: 'allow', by: 'dana', note: '', atMs: NOW_MS } as const;
  const decided = { request: requestView().request, answer: 'deny', deciders: ['eli'], decidedAtMs: NOW_MS } as const;
  const listed = async (mayRead: boolean) =>
    text(
      await pagesApp({
        secondReviews: async () => ({ open: [], done: [{ ...decided, second, mayRead }], nowMs: NOW_MS }),
      }).request('/second-reviews'),
    );
  const link = `<a href="/requests/${OPERATION_ID}?revision=1"`;
  expect(await listed(true)).toContain(link);
  expect(await listed(false)).not.toContain(OPERATION_ID);
  expect(plain(await listed(false))).toContain('orders-db / apply_migration: eli answered deny, dana would have');
});
