import { migrate, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { startHarness, type Harness } from '../support/harness';
import { outcomes, statuses } from '../support/messages';

const clock = testClock();
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs });
}, 30_000);
afterAll(() => harness.close());

const begin = async (call = migrate(), requester = someone()) => {
  const turn = await harness.start([call], { requester });
  const [request] = await harness.requests(turn);
  return { turn, request: request! };
};
const received = (id: number) => harness.tools.received.filter((call) => call.arguments['id'] === id);
const notCounted = async (operationId: string) =>
  (await harness.facts(operationId))
    .filter((fact) => fact.kind === 'decision.notCounted')
    .map((fact) => fact.body['code']);

test('a denial closes that request only: the same call in another turn is a new request [DENY-01]', async () => {
  const requester = someone();
  const first = await begin(remove('c1', { id: 1 }), requester);
  await harness.decide(first.request, 'deny', { reason: 'use the staging copy' });
  const [denied] = await first.turn.results();
  expect(denied!.end).toEqual({ outcome: 'denied', reason: 'use the staging copy', deciders: ['r1'] });
  expect(denied!.textForModel).toContain('"use the staging copy"');
  const second = await begin(remove('c1', { id: 1 }), requester);
  expect(second.request).toMatchObject({ revision: 1, cause: 'first' });
  expect(second.request.operationId).not.toBe(first.request.operationId);
  await harness.decide(second.request, 'allow');
  expect(await outcomes(second.turn)).toEqual([['c1', 'executed']]);
  expect(received(1)).toHaveLength(1);
});

test('after three denials within the hour the fourth is refused with the time to wait; later it asks again [DENY-02]', async () => {
  const requester = someone();
  for (const _time of [1, 2, 3]) {
    const { request, turn } = await begin(remove('c1', { id: 2 }), requester);
    await harness.decide(request, 'deny');
    await turn.results();
    clock.advance(15 * MINUTE_MS);
  }
  const fourth = await harness.start([remove('c1', { id: 2 })], { requester });
  const [refused] = await fourth.results();
  expect(refused!.end).toMatchObject({
    outcome: 'refused',
    code: 'DENIALS_REPEATED',
    // Of the hour since the first of the three, 45 minutes are over.
    detail: expect.stringMatching(
      /denied 3 times within the hour\. It may be proposed again in (900|89\d) s/,
    ) as string,
  });
  expect((await harness.facts(refused!.operationId)).map((fact) => fact.kind)).toEqual(['call.refused']);
  clock.advance(60 * MINUTE_MS);
  expect((await begin(remove('c1', { id: 2 }), requester)).request.revision).toBe(1);
  expect(received(2)).toHaveLength(0);
});

test('one deny closes a quorum of two that has one allow [DENY-05]', async () => {
  await harness.applyPolicy({ quorum: 2 });
  const { turn, request } = await begin(remove('c1', { id: 5 }));
  expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'accepted', state: 'pending' });
  expect(await harness.decide(request, 'deny', { reviewer: 'r2' })).toMatchObject({
    code: 'accepted',
    state: 'denied',
  });
  expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
  await harness.applyPolicy();
  expect(received(5)).toHaveLength(0);
});

test('an allow after the requester withdrew is a conflict, on record [DENY-06]', async () => {
  const { turn, request } = await begin(remove('c1', { id: 6 }));
  await turn.withdraw({ reason: 'not needed' });
  const [result] = await turn.results();
  expect(result!.end).toEqual({ outcome: 'withdrawn', detail: 'the requester took it back: not needed' });
  clock.advance(1_000);
  expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'conflict', state: 'withdrawn' });
  expect(await notCounted(request.operationId)).toEqual(['conflict']);
  expect(received(6)).toHaveLength(0);
});

test('an allow by the person who denied is a conflict, on record; denied stays [DENY-07]', async () => {
  const { turn, request } = await begin(remove('c1', { id: 7 }));
  await harness.decide(request, 'deny');
  expect(await harness.decide(request, 'allow')).toMatchObject({
    code: 'conflict',
    state: 'denied',
    decidedBy: ['r1'],
  });
  expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
  expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'conflict', state: 'denied' });
  expect(await notCounted(request.operationId)).toEqual(['conflict', 'conflict']);
  expect(received(7)).toHaveLength(0);
});

test('withdrawing one call leaves its sibling', async () => {
  const turn = await harness.start([remove('c1', { id: 8 }), remove('c2', { id: 81 })], { requester: someone() });
  const [, c2] = await harness.requests(turn, 2);
  await turn.withdraw({ callId: 'c1' });
  await harness.decide(c2!, 'allow');
  expect(await outcomes(turn)).toEqual([
    ['c1', 'withdrawn'],
    ['c2', 'executed'],
  ]);
});

test('withdrawing a call that is not there changes nothing', async () => {
  const { turn } = await begin(remove('c1', { id: 9 }));
  await turn.withdraw({ callId: 'c9' });
  expect(await statuses(turn)).toEqual(['pending']);
  expect((await turn.snapshot()).ignored).toBe(1);
});
