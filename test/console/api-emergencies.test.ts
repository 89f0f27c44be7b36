import type { Policy, Rule } from '../../core/policy';
import type { ApprovalRequest } from '../../core/request';
import { factsOf } from '../../ledger/queries';
import { MINUTE_MS, testClock } from '../support/clock';
import { CONSOLE_POLICY, answering, consoleApi, type ConsoleApi, type PersonName } from '../support/console-api';
import { BREAK_GLASS } from '../support/emergency-policy';
import { askOf } from '../support/ledger-fixture';

const HOUR_MS = 60 * MINUTE_MS;
const window = (minutes: number) =>
  ({ kind: 'window', uses: null, durationMs: minutes * MINUTE_MS, total: {} }) as const;

/** vik is on call and asked about nothing else. */
const rule: Rule = { ...BREAK_GLASS, validity: window(15) };
const withVik = (groups: string[]): Policy => ({
  ...CONSOLE_POLICY,
  people: { ...CONSOLE_POLICY.people, vik: { ...CONSOLE_POLICY.people['vik']!, groups } },
  rules: [...CONSOLE_POLICY.rules, rule],
});
const clock = testClock();
let api: ConsoleApi;

beforeEach(async () => {
  api = await consoleApi({ clock: clock.nowMs });
  await api.apply(withVik(['oncall']));
});

afterEach(() => api.close());

const emergency = { rule: 'break-glass', ticket: 'INC-7' };
const inEmergency = { reason: 'the site is down', emergency };

const decide = (person: PersonName, request: ApprovalRequest, more: object = inEmergency) =>
  api.as(person).post(`/requests/${request.operationId}/decisions`, answering(request, 'allow', { ...more }));

const idOf = ({ operationId }: ApprovalRequest) => `gr_${operationId.slice(3)}.1`;

async function allowed(): Promise<ApprovalRequest> {
  const request = await api.ask();
  expect((await decide('vik', request)).status).toBe(200);
  return request;
}

const review = (person: PersonName, grantId: string) =>
  api.as(person).post(`/retrospectives/${grantId}/review`, { finding: 'notJustified', note: 'it could have waited' });

async function listed(person: PersonName, query = ''): Promise<readonly string[]> {
  const { body } = await api.as(person).get(`/retrospectives${query}`);
  return (body as { items: readonly { grantId: string }[] }).items.map(({ grantId }) => grantId);
}

async function offers(person: PersonName, request: ApprovalRequest): Promise<unknown> {
  const { body } = await api.as(person).get(`/requests/${request.operationId}`);
  return (body as { emergencies: unknown }).emergencies;
}

describe('an emergency', () => {
  it('is offered to those whom its rule names, with whom it skips and who reviews it', async () => {
    const request = await api.ask();
    expect(await offers('vik', request)).toMatchObject([
      {
        rule: 'break-glass',
        ask: { validity: { kind: 'once' }, emergency: true },
        skipped: ['dana', 'eli', 'lena'],
        reviewers: ['dana', 'eli', 'lena'],
        reviewWithinMs: 28_800_000,
        overdue: null,
        may: { ok: true },
      },
    ]);
    expect(await offers('dana', request)).toEqual([]);
  });

  it('is not offered to somebody who stands behind the call', async () => {
    const request = await api.ask({ requester: { subject: 'user:vik', agent: 'bot', chain: [] } });
    expect(await offers('vik', request)).toEqual([]);
  });

  it.each([
    [
      'without a ticket',
      { ...inEmergency, emergency: { ...emergency, ticket: ' ' } },
      'emergencyRefused',
      'an emergency needs the id of its ticket',
    ],
    ['without a reason', { emergency }, 'emergencyRefused', 'an emergency needs a reason'],
    [
      'for 16 minutes',
      { ...inEmergency, minutes: 16 },
      'cannotWiden',
      'a reviewer can shorten what the rule gives, not widen it: it gives 15 minutes at most',
    ],
  ])('%s is refused, with its reason [TIME2-14]', async (_what, more, code, detail) => {
    const request = await api.ask({ ask: askOf({ validity: window(60) }) });
    const answer = await decide('vik', request, more);
    expect([answer.status, answer.body]).toEqual([422, expect.objectContaining({ code, detail, state: 'pending' })]);
  });

  it('for a tool that its rule does not name is refused, with its reason [TIME2-14]', async () => {
    const request = await api.ask({ tool: 'send_mail' });
    const answer = await decide('dana', request);
    expect([answer.status, answer.body]).toEqual([
      422,
      expect.objectContaining({
        code: 'emergencyRefused',
        detail: 'emergency rule break-glass does not name orders-db/send_mail',
      }),
    ]);
    // Whom nobody asks about it is not told that it is there; the attempt is on record.
    expect((await decide('vik', request)).status).toBe(404);
    const refused = (await factsOf(api.store.db, request.operationId)).filter(
      ({ kind }) => kind === 'decision.notCounted',
    );
    expect(refused.map(({ body }) => [body['reviewer'], body['code']])).toEqual([
      ['dana', 'emergencyRefused'],
      ['vik', 'emergencyRefused'],
    ]);
  });

  it('is refused while a review is overdue, which the offer names; and allowed once that is closed [TIME2-15]', async () => {
    const first = await allowed();
    clock.advance(8 * HOUR_MS);
    const late = await api.ask();
    const overdue = { grantId: idOf(first), isTheirs: true };
    expect(await offers('vik', late)).toMatchObject([{ overdue, may: { ok: false, code: 'emergencyRefused' } }]);
    expect((await decide('vik', late)).body).toMatchObject({ code: 'emergencyRefused' });
    expect((await review('eli', idOf(first))).status).toBe(200);
    expect(await offers('vik', late)).toMatchObject([{ overdue: null, may: { ok: true } }]);
    expect((await decide('vik', late)).status).toBe(200);
  });
});

describe('the emergencies', () => {
  it('come open ones first, the first due first, then those that are closed', async () => {
    const closed = await allowed();
    clock.advance(MINUTE_MS);
    const first = await allowed();
    clock.advance(MINUTE_MS);
    const second = await allowed();
    await review('dana', idOf(closed));
    expect(await listed('omar')).toEqual([first, second].map(idOf));
    expect(await listed('omar', '?all=true')).toEqual([first, second, closed].map(idOf));
  });

  it('are for operators, for who may review them, and for who allowed them, whatever groups those are in since', async () => {
    const id = idOf(await allowed());
    await api.apply(withVik([]));
    for (const person of ['omar', 'dana', 'lena', 'vik'] as const) expect(await listed(person)).toEqual([id]);
    const mayRead = async (person: PersonName) => (await api.as(person).get('/retrospectives')).body;
    expect(await mayRead('dana')).toMatchObject({ items: [{ mayRead: true }] });
    expect(await mayRead('vik')).toMatchObject({ items: [{ mayRead: false }] });
    expect(await listed('amira')).toEqual([]);
    expect((await review('amira', id)).status).toBe(404);
    expect((await review('vik', id)).body).toMatchObject({
      code: 'NOT_REVIEWED',
      detail: `vik may not review emergency ${id}; who may: dana, eli, lena`,
    });
  });
});

describe('a second review', () => {
  const everyDecision = () =>
    api.apply({ ...CONSOLE_POLICY, console: { ...CONSOLE_POLICY.console!, secondReviewShare: 1 } });
  const give = (person: PersonName, { operationId }: ApprovalRequest, more: object = {}) =>
    api.as(person).post(`/operations/${operationId}/second-review`, { revision: 1, answer: 'allow', ...more });
  const list = async (person: PersonName, query = '') => {
    const { body } = await api.as(person).get(`/second-reviews${query}`);
    return (body as { items: readonly { request: ApprovalRequest; done: object | null }[] }).items;
  };
  const denied = async () => {
    await everyDecision();
    const request = await api.ask();
    const denial = answering(request, 'deny', { reason: 'DECIDED-WORDS' });
    expect((await api.as('dana').post(`/requests/${request.operationId}/decisions`, denial)).status).toBe(200);
    return request;
  };

  it('lists what waits for the viewer without what was decided, and with it once they have said theirs', async () => {
    const request = await denied();
    for (const query of ['', '?all=true']) {
      const { text, body } = await api.as('eli').get(`/second-reviews${query}`);
      expect(body).toMatchObject({ items: [{ request: { operationId: request.operationId }, done: null }] });
      expect(text).not.toMatch(/DECIDED-WORDS|dana|"denied"|"deny"/);
    }
    const given = await give('eli', request, { note: 'the filter is right' });
    expect([given.status, given.body]).toEqual([
      200,
      {
        ...{ operationId: request.operationId, revision: 1, answer: 'allow', note: 'the filter is right', by: 'eli' },
        ...{ agrees: false, decided: 'deny' },
      },
    ]);
    expect(await list('eli')).toEqual([]);
    const done = { answer: 'allow', by: 'eli', agrees: false, decided: 'deny', deciders: ['dana'] };
    for (const person of ['eli', 'omar'] as const)
      expect(await list(person, '?all=true')).toMatchObject([{ request: { operationId: request.operationId }, done }]);
    expect(await list('lena', '?all=true')).toEqual([]);
  });

  it('counts once, and tells nobody but its own reviewer what was decided', async () => {
    const request = await denied();
    expect((await give('eli', request)).status).toBe(200);
    for (const person of ['eli', 'lena'] as const) {
      const again = await give(person, request);
      expect([again.status, again.body]).toEqual([
        409,
        expect.objectContaining({ code: 'NOT_SECOND_REVIEWED', detail: 'eli reviewed it before' }),
      ]);
      expect(again.text).not.toContain('deny');
    }
  });

  it('that denies says why, and one without records nothing', async () => {
    const request = await denied();
    const refused = await give('eli', request, { answer: 'deny', note: ' ' });
    expect([refused.status, refused.body]).toEqual([400, expect.objectContaining({ code: 'REASON_MISSING' })]);
    expect(await list('eli')).toHaveLength(1);
  });

  it('is none where the viewer decided, asked, has nothing to do with it, or nothing was decided', async () => {
    const request = await denied();
    const open = await api.ask();
    const none = (await give('vik', { ...request, operationId: `op_${'0'.repeat(40)}` })).text;
    for (const [person, of] of [
      ['dana', request],
      ['amira', request],
      ['vik', request],
      ['eli', open],
    ] as const) {
      const answer = await give(person, of);
      expect([answer.status, answer.text]).toEqual([404, none]);
    }
  });
});
