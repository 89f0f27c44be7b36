import { randomUUID } from 'node:crypto';
import { mail, migrate, remove, someone } from '../support/calls';
import { decisionOn, startHarness, type Harness, PATIENT } from '../support/harness';
import { outcomes, statuses } from '../support/messages';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({
    policy: {
      people: `  r1: { groups: [dba] }
  r2: { groups: [dba] }
  l1: { groups: [dba-leads] }
  u1: { groups: [platform, dba] }
  u2: { groups: [platform] }
  service: { groups: [platform] }`,
    },
  });
}, 30_000);
afterAll(() => harness.close());

const notCounted = async (operationId: string) =>
  (await harness.facts(operationId))
    .filter((fact) => fact.kind === 'decision.notCounted')
    .map((fact) => fact.body['code']);

test('what a parent was allowed does not cover what its sub-agent calls [NEST-03]', async () => {
  const parent = someone('u2', []);
  // The parent's approved operation stands for handing the work on.
  const handing = await harness.start([mail('c1')], { requester: parent });
  const [delegated] = await harness.requests(handing);
  await harness.decide(delegated!, 'allow');
  expect(await outcomes(handing)).toEqual([['c1', 'executed']]);
  const sub = { subject: 'u2', agent: 'sub', chain: ['u2', parent.agent, 'sub'] };
  const inner = await harness.start([migrate('c1', { sql: 'nest03' })], { requester: sub });
  const [request] = await harness.requests(inner);
  expect(request).toMatchObject({ requester: sub, tool: 'apply_migration', revision: 1 });
  expect(harness.tools.received.filter((call) => call.arguments['sql'] === 'nest03')).toHaveLength(0);
});

test('a parent agent is no reviewer of its child: recorded, still pending [NEST-05]', async () => {
  const turn = await harness.start([migrate()], { requester: someone('u2', ['u2', 'parent', 'child']) });
  const [request] = await harness.requests(turn);
  expect((await harness.decide(request!, 'allow', { reviewer: 'parent' })).code).toBe('notAReviewer');
  expect(await notCounted(request!.operationId)).toEqual(['notAReviewer']);
  expect(await statuses(turn)).toEqual(['pending']);
});

test.each([
  ['at the start of a chain [NEST-06]', { subject: 'service', agent: 'sub', chain: ['user:u1', 'bot', 'sub'] }],
  ['two agents away [FORGE-10]', { subject: 'u1', agent: 'b', chain: ['u1', 'a', 'b'] }],
  ['in the middle of a chain', { subject: 'service', agent: 'sub', chain: ['service', 'bot', 'u1', 'sub'] }],
])('the human %s cannot allow what is done in the own name', async (_name, requester) => {
  const turn = await harness.start([migrate()], { requester });
  const [request] = await harness.requests(turn);
  expect((await harness.decide(request!, 'allow', { reviewer: 'u1' })).code).toBe('selfApproval');
  expect(await notCounted(request!.operationId)).toEqual(['selfApproval']);
  expect(await statuses(turn)).toEqual(['pending']);
  expect((await harness.decide(request!, 'allow')).code).toBe('accepted');
  expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
});

test('two sub-agents with a call of one id each: each decision runs its own call [NEST-07]', async () => {
  const [a, b] = [someone('u2', ['u2', 'bot', 'a']), someone('u2', ['u2', 'bot', 'b'])];
  const [turnA, turnB] = [
    await harness.start([remove('c1', { id: 71 })], { requester: a, id: randomUUID() }),
    await harness.start([remove('c1', { id: 72 })], { requester: b, id: randomUUID() }),
  ];
  const [[requestA], [requestB]] = [await harness.requests(turnA), await harness.requests(turnB)];
  expect(requestA!.operationId).not.toBe(requestB!.operationId);
  // A's decision at B's turn: not an open request there.
  expect((await harness.holdpoint.decide(turnB.workflowId, decisionOn(requestA!, 'allow'), PATIENT)).code).toBe(
    'unknownRequest',
  );
  await harness.decide(requestA!, 'allow');
  await harness.decide(requestB!, 'deny');
  expect(await outcomes(turnA)).toEqual([['c1', 'executed']]);
  expect(await outcomes(turnB)).toEqual([['c1', 'denied']]);
  expect(harness.tools.runs.map((run) => run.arguments['id'])).toContain(71);
  expect(harness.tools.runs.map((run) => run.arguments['id'])).not.toContain(72);
});
