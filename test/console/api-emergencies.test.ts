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
    expect(await listed('amira')).toEqual([]);
    expect((await review('amira', id)).status).toBe(404);
    expect((await review('vik', id)).body).toMatchObject({
      code: 'NOT_REVIEWED',
      detail: `vik may not review emergency ${id}; who may: dana, eli, lena`,
    });
  });
});
