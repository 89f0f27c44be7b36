import { randomUUID } from 'node:crypto';
import { connect, type Holdpoint, type Turn } from '../../client';
import { migrate, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { startTcpProxy } from '../support/tcp-proxy';

const address = process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());

const firstEvent = async (turn: Turn) => {
  for await (const event of turn.events()) return event;
  return null;
};
const ASKED = {
  snapshot: (turn: Turn) => turn.snapshot(),
  results: (turn: Turn) => turn.results(),
  events: firstEvent,
  withdraw: (turn: Turn) => turn.withdraw(),
};

test.each(Object.entries(ASKED))('%s of a turn that nobody started: TURN_NOT_FOUND', async (_name, ask) => {
  const turn = harness.holdpoint.attach({ id: 'nobody-started-it', subject: 'u1' });
  await expect(ask(turn)).rejects.toMatchObject({ name: 'HoldpointError', code: 'TURN_NOT_FOUND' });
});

test('withdraw of a turn that has ended: TURN_NOT_FOUND', async () => {
  const turn = await harness.start([remove()], { requester: someone() });
  await turn.withdraw();
  await turn.results();
  await expect(turn.withdraw()).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
});

test('a turn that is ended from outside while it is opened: TURN_ENDED_EARLY', async () => {
  harness.tools.behave('schema_version', { kind: 'hold' }, 1);
  const id = randomUUID();
  const requester = someone();
  const starting = harness.start([migrate()], { id, requester });
  const ended = expect(starting).rejects.toMatchObject({ name: 'HoldpointError', code: 'TURN_ENDED_EARLY' });
  await eventually(() => expect(harness.tools.receivedBy('schema_version')).toHaveLength(1));
  const { workflowId } = harness.holdpoint.attach({ id, subject: requester.subject });
  await harness.holdpoint.client.workflow.getHandle(workflowId).terminate('a test');
  await ended;
  harness.tools.release('schema_version');
});

test('a turn that its worker cannot go on with is waited for: TURN_NO_ANSWER, and its events begin later', async () => {
  const [id, requester] = [randomUUID(), someone()];
  const turn = harness.holdpoint.attach({ id, subject: requester.subject });
  const handle = await harness.holdpoint.client.workflow.start('agentTurn', {
    workflowId: turn.workflowId,
    taskQueue: harness.taskQueue,
    args: [{ v: 2, turnId: id, requester, calls: [remove()] }],
  });
  const listening = turn.events().next();
  listening.catch(() => undefined);
  // From the third try on the server answers queries by an error of its own.
  await eventually(async () => {
    expect((await handle.describe()).raw.pendingWorkflowTask?.attempt).toBeGreaterThan(2);
  }, 40_000);
  await expect(turn.snapshot()).rejects.toMatchObject({ code: 'TURN_NO_ANSWER' });
  await handle.terminate('a test');
  await expect(listening).rejects.toMatchObject({ code: 'TURN_ENDED_EARLY' });
});

describe('a namespace that is not there', () => {
  let nowhere: Holdpoint;
  beforeAll(async () => {
    nowhere = await connect({ address, namespace: 'nope', taskQueue: harness.taskQueue });
  });
  afterAll(() => nowhere.close());

  test.each([
    ...Object.entries(ASKED),
    ['startTurn', () => nowhere.startTurn({ id: 't1', requester: { subject: 'u1', agent: 'bot' }, calls: [remove()] })],
  ] as const)('%s: TEMPORAL_REFUSED, with its name', async (_name, ask) => {
    const asked = ask(nowhere.attach({ id: 't1', subject: 'u1' }));
    await expect(asked).rejects.toMatchObject({
      name: 'HoldpointError',
      code: 'TEMPORAL_REFUSED',
      message: expect.stringContaining('nope') as string,
    });
  });

  test('a decision: TEMPORAL_REFUSED, with its name', async () => {
    const turn = await harness.start([remove()], { requester: someone() });
    const [request] = await harness.requests(turn);
    const decided = nowhere.decide(turn.workflowId, decisionOn(request!, 'deny'));
    await expect(decided).rejects.toMatchObject({
      code: 'TEMPORAL_REFUSED',
      message: expect.stringContaining('nope') as string,
    });
  });
});

test('a Temporal that went away: each call ends with a typed error, a decision within its limit', async () => {
  const [host = '', port] = address.split(':');
  const proxy = await startTcpProxy({ host, port: Number(port) });
  const holdpoint = await connect({ address: `127.0.0.1:${proxy.port}`, taskQueue: harness.taskQueue });
  const requester = someone();
  const { id } = await harness.start([remove()], { requester });
  const turn = holdpoint.attach({ id, subject: requester.subject });
  const [request] = await harness.requests(turn);
  await proxy.cut();
  const sinceMs = Date.now();
  const decided = async (limitMs?: number) => {
    const decision = decisionOn(request!, 'deny');
    const verdict = await holdpoint.decide(turn.workflowId, decision, limitMs === undefined ? {} : { limitMs });
    expect(verdict).toMatchObject({
      code: 'notRecorded',
      detail: expect.stringContaining('could not be reached') as string,
    });
    return Date.now() - sinceMs;
  };
  await Promise.all([
    expect(decided()).resolves.toBeLessThan(7_000),
    expect(decided(1_000)).resolves.toBeLessThan(3_000),
    expect(turn.snapshot()).rejects.toMatchObject({ code: 'TURN_NO_ANSWER' }),
    expect(turn.results()).rejects.toMatchObject({ code: 'TEMPORAL_UNREACHABLE' }),
    expect(turn.withdraw()).rejects.toMatchObject({ code: 'TEMPORAL_UNREACHABLE' }),
  ]);
  await holdpoint.close();
});
