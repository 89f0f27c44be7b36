import { temporal } from '@temporalio/proto';

import { read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { outcomes, sendSignal, sendUpdate, statuses, withdrawOpen } from '../support/messages';

const { UpdateWorkflowExecutionLifecycleStage: Stage } = temporal.api.enums.v1;

type Payload = temporal.api.common.v1.IPayload;

const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});
const BROKEN: readonly (readonly [string, readonly Payload[]])[] = [
  ['broken JSON', [payload('json/plain', '{"operationId":"op_')]],
  ['lists 20,000 deep', [payload('json/plain', '['.repeat(20_000) + ']'.repeat(20_000))]],
  ['an unknown encoding', [payload('binary/other', 'x')]],
  ['an encrypted text without a key', [payload('binary/holdpoint-aes-256-gcm', 'x'.repeat(40))]],
  ['no encoding', [{ data: Buffer.from('{}') }]],
  ['no payload', []],
  ['null', [payload('binary/null', '')]],
];

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());
afterEach(() => withdrawOpen(harness));

let id = 0;
const begin = async () => {
  id += 1;
  const turn = await harness.start([remove('c1', { id })], { requester: someone() });
  const [request] = await harness.requests(turn);
  return { turn, request: request!, workflowId: turn.workflowId };
};
const service = () => harness.holdpoint.client.workflowService;
const signalRaw = (workflowId: string, signalName: string, payloads: readonly Payload[]) =>
  service().signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    signalName,
    input: { payloads: [...payloads] },
  });
const failedTasks = async (workflowId: string) => {
  const { events } = await harness.holdpoint.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes).length;
};
const malformedAt = async (workflowId: string) =>
  (await harness.facts()).filter((fact) => fact.kind === 'decision.malformed' && fact.body['workflowId'] === workflowId)
    .length;

describe('what cannot be decoded', () => {
  test.each(BROKEN)(
    'a decide signal with %s is recorded and ignored; the turn stays decidable [ENG-01]',
    async (_name, payloads) => {
      const { turn, request, workflowId } = await begin();
      await signalRaw(workflowId, 'decide', payloads);
      await eventually(async () => expect(await malformedAt(workflowId)).toBe(1));
      expect(await statuses(turn)).toEqual(['pending']);
      expect((await harness.decide(request, 'allow')).code).toBe('accepted');
      expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
      expect(await failedTasks(workflowId)).toBe(0);
    },
  );

  test.each(BROKEN)(
    'a decide update with %s is malformed; the turn stays decidable [ENG-01]',
    async (_name, payloads) => {
      const { turn, request, workflowId } = await begin();
      const answer = await service().updateWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
        waitPolicy: { lifecycleStage: Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED },
        request: { meta: { updateId: 'broken' }, input: { name: 'decide', args: { payloads: [...payloads] } } },
      });
      expect(JSON.parse(String(answer.outcome?.success?.payloads?.[0]?.data))).toMatchObject({ code: 'malformed' });
      await harness.decide(request, 'allow');
      expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
      expect(await failedTasks(workflowId)).toBe(0);
    },
  );

  test.each(BROKEN.slice(0, 5))('a withdraw signal with %s takes nothing back', async (_name, payloads) => {
    const { turn, request, workflowId } = await begin();
    await signalRaw(workflowId, 'withdraw', payloads);
    await eventually(async () => expect((await turn.snapshot()).ignored).toBe(1));
    expect(await statuses(turn)).toEqual(['pending']);
    await harness.decide(request, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test.each([{ call: 'c1' }, { callId: 1 }, { callId: 'c1', reason: 5 }, 'c1', 42, ['c1']])(
    'a withdraw signal with %j takes nothing back',
    async (message) => {
      const { turn } = await begin();
      await sendSignal(harness, turn, message, 'withdraw');
      await eventually(async () => expect((await turn.snapshot()).ignored).toBe(1));
      expect(await statuses(turn)).toEqual(['pending']);
    },
  );

  test.each([
    ['a character across its limit', `${'x'.repeat(999)}😀`],
    ['half a character', '\ud800'],
  ])('a withdrawal whose reason holds %s ends the call', async (_name, reason) => {
    const { turn } = await begin();
    await sendSignal(harness, turn, { reason }, 'withdraw');
    expect(await outcomes(turn)).toEqual([['c1', 'withdrawn']]);
  });

  test('a start with a broken input ends as refused', async () => {
    for (const [index, [, payloads]] of BROKEN.entries()) {
      const workflowId = `broken-start-${index}-${harness.taskQueue}`;
      await service().startWorkflowExecution({
        namespace: 'default',
        workflowId,
        workflowType: { name: 'agentTurn' },
        taskQueue: { name: harness.taskQueue },
        requestId: workflowId,
        input: { payloads: [...payloads] },
      });
      const result: unknown = await harness.holdpoint.client.workflow.getHandle(workflowId).result();
      expect(result).toMatchObject({ results: [], refusal: { code: 'TURN_INVALID' } });
    }
  });
});

describe('names that a turn does not know', () => {
  test('a misspelt signal with a valid decision is recorded as an unknown name and decides nothing [ENG-03]', async () => {
    const { turn, request, workflowId } = await begin();
    await sendSignal(harness, turn, decisionOn(request, 'allow'), 'aprove');
    await eventually(async () => expect(await malformedAt(workflowId)).toBe(1));
    const fact = (await harness.facts()).filter((entry) => entry.kind === 'decision.malformed').at(-1);
    expect(fact?.body['detail']).toContain('unknownSignal');
    expect(await statuses(turn)).toEqual(['pending']);
    expect((await turn.snapshot()).ignored).toBe(1);
  });

  test('an update of an unknown name is rejected and fails no task [ENG-02]', async () => {
    const { turn, request, workflowId } = await begin();
    const handle = harness.holdpoint.client.workflow.getHandle(workflowId);
    await expect(handle.executeUpdate('aprove', { args: [decisionOn(request, 'allow')] })).rejects.toThrow();
    expect(await statuses(turn)).toEqual(['pending']);
    expect(await failedTasks(workflowId)).toBe(0);
  });

  test('the start is answered with the open requests, in one request [ENG-02]', async () => {
    const turn = await harness.start([remove('c1', { id: 2 }), read('c2')], { requester: someone() });
    const { requiredActions, opened } = await turn.snapshot();
    expect(opened).toBe(true);
    expect(requiredActions.map((request) => request.callId)).toEqual(['c1']);
    const { events } = await harness.holdpoint.client.workflow.getHandle(turn.workflowId).fetchHistory();
    const accepted = (events ?? []).flatMap((event) => event.workflowExecutionUpdateAcceptedEventAttributes ?? []);
    expect(accepted.map((event) => event.acceptedRequest?.input?.name)).toEqual(['opened']);
  });
});

describe('decisions of every wrong kind', () => {
  test.each([
    ['another version', { v: 2 }],
    ['no answer', { answer: undefined }],
    ['an empty answer', { answer: '' }],
    ['a number as answer', { answer: 0 }],
    ['false as answer', { answer: false }],
    ['another word as answer', { answer: 'yes' }],
    ['a list as answer', { answer: ['allow'] }],
    ['an answer in capitals', { answer: 'ALLOW' }],
    ['an operation id of another form', { operationId: 'op_1' }],
    ['a revision of 0', { revision: 0 }],
    ['a revision as text', { revision: '1' }],
    ['a short digest', { digest: 'sha256:0' }],
    ['no reviewer', { reviewer: '' }],
    ['minutes of 0', { minutes: 0 }],
    ['a reason of half a character', { reason: '\ud800' }],
    ['an unknown channel', { channel: 'mail' }],
  ])('%s: malformed, recorded, undecided [EVT-06]', async (_name, change) => {
    const { turn, request, workflowId } = await begin();
    expect((await sendUpdate(harness, turn, { ...decisionOn(request, 'allow'), ...change })).code).toBe('malformed');
    expect(await malformedAt(workflowId)).toBe(1);
    expect(await statuses(turn)).toEqual(['pending']);
  });

  test.each([
    ['another digest', { digest: `sha256:${'0'.repeat(64)}` }, 'stale'],
    ['a revision to come', { revision: 2 }, 'unknownRequest'],
    ['more minutes than the rule gives', { minutes: 60 }, 'cannotWiden'],
    ['a stranger', { reviewer: 'nobody' }, 'notAReviewer'],
    ['the name of a prototype', { reviewer: '__proto__' }, 'notAReviewer'],
    ['the name of an inherited member', { reviewer: 'constructor' }, 'notAReviewer'],
  ] as const)('%s gets its own verdict', async (_name, change, code) => {
    const { turn, request } = await begin();
    expect((await harness.decide(request, 'allow', change)).code).toBe(code);
    expect(await statuses(turn)).toEqual(['pending']);
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });
});
