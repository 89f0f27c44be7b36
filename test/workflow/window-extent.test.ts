import { remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { outcomes, statuses } from '../support/messages';
import type { PolicyVariant } from '../support/policy-text';

const clock = testClock();
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs });
}, 30_000);
afterAll(() => harness.close());
const MINUTES: Partial<PolicyVariant> = { validity: '{ minutes: 15 }' };
type Call = Parameters<Harness['start']>[0][number];

/** Opens a window by an allow for `call`, which runs. */
const opened = async (call: Call, policy = MINUTES, requester = someone()) => {
  await harness.applyPolicy(policy);
  const turn = await harness.start([call], { requester });
  const [request] = await harness.requests(turn);
  await harness.decide(request!, 'allow');
  expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  return { requester, request: request! };
};
/** What becomes of the same call now: asked again, or run at once. */
const next = async (call: Call, requester = someone()) => {
  const turn = await harness.start([call], { requester });
  return eventually(async () => {
    const [status] = await statuses(turn);
    expect(['pending', 'executed', 'refused']).toContain(status);
    return status;
  });
};
const runs = (key: unknown) => harness.tools.runs.filter((run) => run.arguments['id'] === key).length;

describe('a live window', () => {
  test('covers the same call in another turn, with the grant on record, and no other', async () => {
    const { requester, request } = await opened(remove('c1', { id: 1 }));
    const turn = await harness.start([remove('c1', { id: 1 })], { requester });
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({
      outcome: 'executed',
      approval: { grantId: `gr_${request.operationId.slice(3)}.1`, deciders: ['r1'], revision: 1 },
    });
    expect(await next(remove('c1', { id: 2 }), requester)).toBe('pending');
    expect([runs(1), runs(2)]).toEqual([2, 0]);
  });

  test('of three uses is used up by three', async () => {
    const { requester } = await opened(remove('c1', { id: 4 }), { validity: '{ uses: 3, minutes: 60 }' });
    const after = [];
    for (const _time of [2, 3, 4]) after.push(await next(remove('c1', { id: 4 }), requester));
    expect(after).toEqual(['executed', 'executed', 'pending']);
    expect(runs(4)).toBe(3);
  });

  test('with a total of 500 covers 400 and then not 400', async () => {
    const policy = {
      rules: `  - id: amounts
    server: orders-db
    scope: { tools: [delete_rows] }
    approvers: { groups: [dba] }
    validity: { minutes: 60, total: { id: 500 } }`,
    };
    const { requester } = await opened(remove('c1', { id: 400 }), policy);
    expect(await next(remove('c1', { id: 400 }), requester)).toBe('pending');
    expect(runs(400)).toBe(1);
  });

  test('shortened by the reviewer ends when the reviewer said', async () => {
    await harness.applyPolicy(MINUTES);
    const requester = someone();
    const turn = await harness.start([remove('c1', { id: 5 })], { requester });
    const [request] = await harness.requests(turn);
    expect(await harness.decide(request!, 'allow', { minutes: 16 })).toMatchObject({
      code: 'cannotWiden',
      detail: expect.stringContaining('it gives 15 minutes at most') as string,
    });
    await harness.decide(request!, 'allow', { minutes: 5 });
    await turn.results();
    clock.advance(5 * MINUTE_MS);
    expect(await next(remove('c1', { id: 5 }), requester)).toBe('pending');
  });

  test('answers the pending siblings with the same binding and rule, and only them', async () => {
    await harness.applyPolicy(MINUTES);
    const requester = someone();
    const turn = await harness.start([remove('c1', { id: 6 }), remove('c2', { id: 6 }), remove('c3', { id: 61 })], {
      requester,
    });
    const elsewhere = await harness.start([remove('c1', { id: 6 })], { requester });
    const [c1] = await harness.requests(turn, 3);
    await harness.requests(elsewhere);
    await harness.decide(c1!, 'allow');
    expect(await outcomes(elsewhere)).toEqual([['c1', 'executed']]);
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'executed', 'pending']));
    expect([runs(6), runs(61)]).toEqual([3, 0]);
  });
});

describe('a live window does not cover', () => {
  test('a server that got another address [WHO-14]', async () => {
    const { requester } = await opened(remove('c1', { id: 13 }));
    await harness.applyPolicy({ ...MINUTES, url: harness.tools.url.replace('127.0.0.1', 'localhost') });
    expect(await next(remove('c1', { id: 13 }), requester)).toBe('pending');
  });

  test('what only unsigned decisions opened, once signatures are required', async () => {
    const { requester } = await opened(remove('c1', { id: 16 }));
    await harness.applyPolicy({ ...MINUTES, trust: 'signatures' });
    expect(await next(remove('c1', { id: 16 }), requester)).toBe('pending');
    expect(runs(16)).toBe(1);
  });
});

test('a window grant that is gone between the opening and the effect sends the call back to review', async () => {
  const { requester, request } = await opened(remove('c1', { id: 20 }));
  const grantId = `gr_${request.operationId.slice(3)}.1`;
  await harness.store.write(({ db }) =>
    db.updateTable('grants').set({ uses: 1, max_uses: 2 }).where('grant_id', '=', grantId).execute(),
  );
  // Two calls, one use left: both are let through at first, and the second comes back as a request.
  const turn = await harness.start([remove('c1', { id: 20 }), remove('c2', { id: 20 })], { requester });
  await eventually(async () => expect([...(await statuses(turn))].sort()).toEqual(['executed', 'pending']));
  expect(runs(20)).toBe(2);
});
