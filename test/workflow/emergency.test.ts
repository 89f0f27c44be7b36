import { listRetrospectives } from '../../ledger/retrospective-queries';
import { mail, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { startHarness, type Harness } from '../support/harness';
import { outcomes } from '../support/messages';

const clock = testClock();
const HOUR_MS = 60 * MINUTE_MS;
const EMERGENCY = {
  people: `  r1: { groups: [dba] }
  l1: { groups: [dba-leads] }
  o1: { groups: [oncall] }
  o2: { groups: [oncall] }
  u1: { groups: [platform] }`,
  moreRules: `  - id: break-glass
    server: orders-db
    scope: { tools: [delete_rows] }
    approvers: { groups: [oncall] }
    emergency: { reviewWithin: 8h }
`,
};
const emergency = { reviewer: 'o1', reason: 'the site is down', emergency: { rule: 'break-glass', ticket: 'INC-7' } };

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs });
  await harness.applyPolicy(EMERGENCY);
}, 30_000);
afterAll(() => harness.close());

const asked = async (id: number) => {
  const turn = await harness.start([remove('c1', { id })], { requester: someone() });
  const [request] = await harness.requests(turn);
  return { turn, request: request! };
};
const runs = (id: number) => harness.tools.runs.filter((run) => run.arguments['id'] === id).length;
const kinds = async (operationId: string) => (await harness.facts(operationId)).map(({ kind }) => kind);

test('an emergency lets one call through at once, marked in the same ledger, with its review open and those told whom it skipped [WHO-18] [TIME2-15]', async () => {
  const { turn, request } = await asked(1);
  expect(await harness.decide(request, 'allow', emergency)).toMatchObject({ code: 'accepted', decidedBy: ['o1'] });
  const [result] = await turn.results();
  expect(result).toMatchObject({
    outcome: 'executed',
    end: { approval: { emergency: true, deciders: ['o1'], askedRule: { id: 'break-glass' } } },
  });
  expect(runs(1)).toBe(1);
  expect(await kinds(request.operationId)).toEqual([
    'call.proposed',
    'request.opened',
    'request.allowed',
    'grant.issued',
    'retrospective.opened',
    'decision.recorded',
    'operation.dispatched',
    'operation.executed',
  ]);
  expect(await harness.notices(request.operationId)).toContain(`${request.operationId}:1:emergency:allowed`);
  expect(await listRetrospectives(harness.store.db)).toMatchObject([
    { operationId: request.operationId, skipped: ['l1', 'r1'], ticket: 'INC-7', closed: null },
  ]);
});

test('once its review is overdue the next emergency is refused, and nothing runs, until somebody whom it skipped closes it [TIME2-15]', async () => {
  const [open] = await listRetrospectives(harness.store.db);
  clock.advance(8 * HOUR_MS);
  const { turn, request } = await asked(2);
  expect(await harness.decide(request, 'allow', { ...emergency, reviewer: 'o2' })).toMatchObject({
    code: 'emergencyRefused',
    detail: expect.stringContaining('is overdue since') as string,
    state: 'pending',
  });
  expect(runs(2)).toBe(0);
  const review = { grantId: open!.grantId, finding: 'notJustified', by: 'r1', note: 'it could have waited' } as const;
  expect(await harness.ledger.closeRetrospective(review)).toEqual({ ok: true });
  expect((await harness.decide(request, 'allow', { ...emergency, reviewer: 'o2' })).code).toBe('accepted');
  expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  expect(runs(2)).toBe(1);
});

test('an emergency rule that the policy has no more lets nobody decide [WHO-18]', async () => {
  const { turn, request } = await asked(3);
  await harness.applyPolicy({ ...EMERGENCY, moreRules: '' });
  expect((await harness.decide(request, 'allow', emergency)).code).toBe('notAReviewer');
  expect(runs(3)).toBe(0);
  await turn.withdraw();
});

test('an emergency without a ticket, or for a tool that its rule does not name, runs nothing and says why [TIME2-14]', async () => {
  await harness.applyPolicy(EMERGENCY);
  const { turn, request } = await asked(5);
  const told = async (more: object) => (await harness.decide(request, 'allow', { ...emergency, ...more })).detail;
  expect(await told({ emergency: { rule: 'break-glass', ticket: '' } })).toBe(
    'an emergency needs the id of its ticket',
  );
  expect(await told({ minutes: 16 })).toContain('a reviewer can shorten what the rule gives, not widen it');
  const other = await harness.start([mail()], { requester: someone() });
  const [mailed] = await harness.requests(other);
  expect((await harness.decide(mailed!, 'allow', emergency)).detail).toBe(
    'emergency rule break-glass does not name orders-db/send_mail',
  );
  expect(runs(5)).toBe(0);
  await turn.withdraw();
  await other.withdraw();
});
