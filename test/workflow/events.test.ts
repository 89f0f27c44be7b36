import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { connect, type TurnEvent } from '../../client';
import { dataConverterFor } from '../../client/payload-codec';
import { migrate, read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { outcomes } from '../support/messages';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());
afterEach(() => harness.tools.setVersion(7));

async function collect(events: AsyncIterable<TurnEvent>, seen: TurnEvent[] = []): Promise<readonly TurnEvent[]> {
  for await (const event of events) seen.push(event);
  return seen;
}

test('a listener gets one event with the whole request, and the stream ends with the turn [EVT-01]', async () => {
  const turn = await harness.start([migrate('c1', { sql: 'evt01' })], { requester: someone() });
  const seen: TurnEvent[] = [];
  const listening = collect(turn.events(), seen);
  await eventually(() => expect(seen.map((event) => event.type)).toEqual(['proposed', 'approvalRequired']));
  const [request] = await harness.requests(turn);
  expect(seen[1]).toMatchObject({ type: 'approvalRequired', request });
  expect(request).toMatchObject({
    requester: { subject: 'u1' },
    server: 'orders-db',
    tool: 'apply_migration',
    toolTitle: 'Apply a migration',
    material: [
      { name: 'environment', as: 'text', value: 'production' },
      { name: 'statement', as: 'sql', value: 'evt01' },
    ],
    resourceVersion: 7,
    reversible: 'with-effort',
    ask: { rule: { id: 'production-migrations' }, validity: { kind: 'once' } },
    shortId: expect.stringMatching(/^[2-9A-HJKMNP-Z]{8}$/) as string,
  });
  await harness.decide(request!, 'allow');
  expect((await listening).map((event) => event.type)).toEqual(['proposed', 'approvalRequired', 'allowed', 'ended']);
});

test('a call that goes stale after its allow: each step once, in order, numbered [EVT-02]', async () => {
  const turn = await harness.start([migrate()], { requester: someone() });
  const [first] = await harness.requests(turn);
  harness.tools.setVersion(8);
  await harness.decide(first!, 'allow');
  const second = await eventually(async () => {
    const [open] = await harness.requests(turn);
    expect(open?.revision).toBe(2);
    return open!;
  });
  await harness.decide(second, 'allow');
  await turn.results();
  const events = await collect(turn.events());
  expect(events.map((event) => event.number)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(
    events.map((event) => [
      event.type,
      'request' in event ? event.request.revision : 'revision' in event ? event.revision : null,
    ]),
  ).toEqual([
    ['proposed', null],
    ['approvalRequired', 1],
    ['allowed', 1],
    ['approvalRequired', 2],
    ['allowed', 2],
    ['ended', null],
  ]);
});

test('a listener that stopped starts from the first event again', async () => {
  const turn = await harness.start([read('c1'), remove('c2')], { requester: someone() });
  const [request] = await harness.requests(turn);
  for await (const event of turn.events()) if (event.type === 'approvalRequired') break;
  await harness.decide(request!, 'deny');
  const events = await collect(turn.events());
  expect(events.filter((event) => event.callId === 'c2').map((event) => event.type)).toEqual([
    'proposed',
    'approvalRequired',
    'ended',
  ]);
});

type History = Client['workflowService']['getWorkflowExecutionHistory'];

/** A runtime on a connection of its own, whose reads of histories go through `read`. */
async function runtimeReading(read: (real: History) => (request: Parameters<History>[0]) => ReturnType<History>) {
  const address = process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '';
  const real = await Connection.connect({ address });
  const history = read(real.workflowService.getWorkflowExecutionHistory.bind(real.workflowService) as History);
  const workflowService = new Proxy(real.workflowService, {
    get: (service, name) =>
      name === 'getWorkflowExecutionHistory' ? history : (Reflect.get(service, name) as unknown),
  });
  const signals: AbortSignal[] = [];
  const withAbortSignal = <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
    signals.push(signal);
    return real.withAbortSignal(signal, call);
  };
  const replaced = { workflowService: { value: workflowService }, withAbortSignal: { value: withAbortSignal } };
  const connection = Object.create(real, replaced) as Connection;
  const client = new Client({ connection, dataConverter: dataConverterFor(undefined) });
  return { runtime: await connect({ client, taskQueue: harness.taskQueue }), signals, close: () => real.close() };
}

test('a listener that stopped leaves no request to the server behind', async () => {
  let open = 0;
  const { runtime, close } = await runtimeReading((real) => (request) => {
    open += 1;
    return real(request).finally(() => (open -= 1));
  });
  const turn = await runtime.startTurn({ id: randomUUID(), requester: someone(), calls: [remove()] });
  for await (const event of turn.events()) {
    if (event.type !== 'approvalRequired') continue;
    expect(open).toBe(1);
    break;
  }
  await eventually(() => expect(open).toBe(0), 2_000);
  await turn.withdraw();
  expect(await outcomes(turn)).toEqual([['c1', 'withdrawn']]);
  await close();
});

test('a listener keeps one wait for the end, however many polls it takes', async () => {
  let polls = 0;
  const { runtime, signals, close } = await runtimeReading((real) => async (request) => {
    polls += 1;
    if (polls > 30) return real(request);
    await real({ ...request, waitNewEvent: false, historyEventFilterType: null });
    // As the server answers a poll during which nothing has ended.
    return temporal.api.workflowservice.v1.GetWorkflowExecutionHistoryResponse.create();
  });
  const turn = await runtime.startTurn({ id: randomUUID(), requester: someone(), calls: [remove()] });
  const listening = collect(turn.events());
  await eventually(() => expect(polls).toBe(31));
  await turn.withdraw();
  expect((await listening).map((event) => event.type)).toEqual(['proposed', 'approvalRequired', 'ended']);
  for (const signal of signals) expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(2);
  await close();
});

test('a turn that has moved on elsewhere leaves the earlier one decidable [EVT-05]', async () => {
  const requester = someone();
  const first = await harness.start([remove('c1', { id: 51 })], { requester, id: `chat/1-${randomUUID()}` });
  const [request] = await harness.requests(first);
  const second = await harness.start([remove('c1', { id: 52 })], { requester, id: `chat/2-${randomUUID()}` });
  await harness.requests(second);
  expect((await harness.decide(request!, 'allow')).code).toBe('accepted');
  expect(await outcomes(first)).toEqual([['c1', 'executed']]);
  expect((await second.snapshot()).requiredActions).toHaveLength(1);
  expect(harness.tools.runs.map((run) => run.arguments['id'])).not.toContain(52);
});

test('a call that ran after an allow says who allowed what, under which rules, in its result and on record [EVT-07]', async () => {
  const turn = await harness.start([remove('c1', { id: 7 })], { requester: someone() });
  const [request] = await harness.requests(turn);
  const { operationId, bindingDigest } = request!;
  await harness.decide(request!, 'allow');
  const [result] = await turn.results();
  const rule = { id: 'production-migrations', version: request!.ask.rule!.version };
  const approval = {
    revision: 1,
    deciders: ['r1'],
    askedRule: rule,
    permittedRule: rule,
    grantId: `gr_${operationId.slice(3)}.1`,
    emergency: false,
    verified: false,
  };
  expect(result!.end).toMatchObject({ outcome: 'executed', evidence: 'answer', approval });
  const facts = await harness.facts(operationId);
  expect(facts.find((fact) => fact.kind === 'operation.dispatched')?.body).toMatchObject({ bindingDigest, approval });
  expect(facts.find((fact) => fact.kind === 'decision.recorded')?.body).toMatchObject({
    reviewer: 'r1',
    answer: 'allow',
    revision: 1,
    digest: bindingDigest,
    code: 'accepted',
  });
});

test('a changed rule that still covers leaves both versions on record [EVT-07]', async () => {
  const turn = await harness.start([remove('c1', { id: 71 })], { requester: someone() });
  const [request] = await harness.requests(turn);
  await harness.applyPolicy({ deadline: '{ after: 20m, then: expire }' });
  await harness.decide(request!, 'allow');
  const [result] = await turn.results();
  await harness.applyPolicy();
  if (result?.end.outcome !== 'executed') throw new Error(`not executed: ${JSON.stringify(result?.end)}`);
  const { askedRule, permittedRule } = result.end.approval!;
  expect(askedRule).toEqual(request!.ask.rule);
  expect(permittedRule).toMatchObject({ id: 'production-migrations' });
  expect(permittedRule!.version).not.toBe(askedRule!.version);
});

test('an ungated call has no approval on record', async () => {
  const turn = await harness.start([read()], { requester: someone() });
  const [result] = await turn.results();
  expect(result!.end).toMatchObject({ outcome: 'executed', approval: null });
});
