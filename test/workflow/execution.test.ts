import { randomUUID } from 'node:crypto';
import type { RunStep } from '../../activities/dependencies';
import { runTool } from '../../activities/run-tool';
import { parsePolicyFile } from '../../core/policy-file';
import type { ProposedCall } from '../../core/turn';
import type { TurnResult } from '../../core/turn-packing';
import { mail, migrate, read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness, PATIENT } from '../support/harness';
import { outcomes } from '../support/messages';
import { policyText } from '../support/policy-text';

/** What happens at the steps of an operation's run. */
const steps = new Map<string, Partial<Record<RunStep, () => Promise<unknown>>>>();

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({
    policy: { timeout: '1s', settleAfter: '1s', budget: '1s' },
    onStep: async (step, operationId) => {
      await steps.get(operationId)?.[step]?.();
    },
  });
}, 30_000);
afterAll(() => harness.close());
afterEach(async () => {
  steps.clear();
  await harness.tools.start().catch(() => undefined);
  for (const tool of ['delete_rows', 'apply_migration', 'send_mail', 'find_migration', 'read_rows'])
    harness.tools.behave(tool, undefined);
  await harness.applyPolicy();
});

const begin = async (call = migrate(), requester = someone()) => {
  const turn = await harness.start([call], { requester });
  const [request] = await harness.requests(turn);
  return { turn, request: request! };
};

const runs = (id: unknown) =>
  harness.tools.runs.filter((run) => run.arguments['id'] === id || run.arguments['sql'] === id);
const received = (id: unknown) =>
  harness.tools.received.filter((call) => Object.values(call.arguments).includes(id as string));

describe('at most once', () => {
  test('the same allow posted twice gets the same answer twice: one run, one event [EXEC-01]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 1 }));
    const decision = decisionOn(request, 'allow');
    const first = await harness.holdpoint.decide(turn.workflowId, decision, PATIENT);
    const second = await harness.holdpoint.decide(turn.workflowId, decision, PATIENT);
    expect([first.code, second.code]).toEqual(['accepted', 'accepted']);
    await turn.results();
    expect(await harness.holdpoint.decide(turn.workflowId, decision, PATIENT)).toMatchObject({ code: 'accepted' });
    expect(runs(1)).toHaveLength(1);
    expect((await harness.notices(request.operationId)).filter((id) => id.endsWith(':allowed'))).toHaveLength(1);
  });

  test('a once grant used in one turn does not cover the same call in the next [EXEC-03]', async () => {
    const requester = someone();
    const first = await begin(remove('c1', { id: 3 }), requester);
    await harness.decide(first.request, 'allow');
    await first.turn.results();
    const second = await begin(remove('c1', { id: 3 }), requester);
    expect(second.request.operationId).not.toBe(first.request.operationId);
    expect(runs(3)).toHaveLength(1);
  });

  test('a turn that is replayed whole answers its stored results: nothing is sent, nobody is asked [EXEC-04]', async () => {
    const [requester, id] = [someone(), randomUUID()];
    const calls = [remove('c1', { id: 4 }), read('c2', { arguments: { table: 'exec04' } }), remove('c3', { id: 41 })];
    const turn = await harness.start(calls, { requester, id });
    const [c1, c3] = await harness.requests(turn, 2);
    await harness.decide(c1!, 'allow');
    await harness.decide(c3!, 'deny');
    const before = await turn.results();
    const again = await harness.start(calls, { requester, id });
    expect(await again.results()).toEqual(before);
    expect(received(4)).toHaveLength(1);
    expect(received('exec04')).toHaveLength(1);
    expect((await harness.notices(c1!.operationId)).filter((name) => name.endsWith(':opened'))).toHaveLength(1);
  });

  test('a replayed turn with an unknown outcome sends nothing, and what was refused stays refused [EXEC-04]', async () => {
    const [requester, id] = [someone(), randomUUID()];
    await harness.applyPolicy({
      timeout: '1s',
      access: `  - { subjects: [u1], agents: ['*'], server: orders-db, tools: [send_mail] }`,
    });
    harness.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    const calls = [mail('c1', { to: 'exec04@example.com' }), read('c2', { arguments: { table: 'exec04b' } })];
    const turn = await harness.start(calls, { requester, id });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    const before = await outcomes(turn);
    expect(before).toEqual([
      ['c1', 'unknown'],
      ['c2', 'refused'],
    ]);
    await harness.applyPolicy();
    const again = await harness.start(calls, { requester, id });
    expect(await outcomes(again)).toEqual(before);
    expect(received('exec04@example.com')).toHaveLength(1);
    expect(received('exec04b')).toHaveLength(0);
  });

  test('a settled outcome is read by the same turn, replayed', async () => {
    const [requester, id] = [someone(), randomUUID()];
    harness.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    const calls = [mail('c1', { to: 'settled@example.com' })];
    const turn = await harness.start(calls, { requester, id });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'unknown']]);
    const { operationId } = request!;
    await harness.ledger.settle({ operationId, outcome: 'executed', by: 'dana', reason: 'seen in the outbox' });
    expect(await outcomes(await harness.start(calls, { requester, id }))).toEqual([['c1', 'executed']]);
    expect(received('settled@example.com')).toHaveLength(1);
  });
});

describe('a run scheduled by hand', () => {
  const turnOf = (request: { turnId: string; workflowId: string; requester: never }) => request as never;
  const byHand = (request: object, call: unknown) =>
    runTool(harness.deps, {
      turn: turnOf(request as never),
      call: call as ProposedCall,
      attempt: 1,
      resultBytes: 1_000,
    });

  test('without a grant asks first [EXEC-12]', async () => {
    const { request } = await begin(remove('c1', { id: 12 }));
    expect((await byHand(request, remove('c1', { id: 12 }))).state.status).toBe('pending');
    expect((await byHand(request, remove('c8', { id: 12 }))).state.status).toBe('pending');
    expect(received(12)).toHaveLength(0);
  });

  test('on the grant of another operation asks first [EXEC-12]', async () => {
    const { request } = await begin(remove('c1', { id: 121 }));
    await harness.ledger.recordDecision(decisionOn(request, 'allow'), request.workflowId);
    expect((await byHand(request, remove('c9', { id: 121 }))).state.status).toBe('pending');
    expect(received(121)).toHaveLength(0);
  });

  test('on a used grant answers what is on record [EXEC-12]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 122 }));
    await harness.decide(request, 'allow');
    await turn.results();
    const again = await byHand(request, remove('c1', { id: 122 }));
    expect(again.state).toMatchObject({ status: 'ended', end: { outcome: 'executed' } });
    expect(received(122)).toHaveLength(1);
  });

  test('with other arguments than those allowed is TURN_CONFLICT [BIND-01] [EXEC-12]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'ADD COLUMN exec12' }));
    await harness.ledger.recordDecision(decisionOn(request, 'allow'), request.workflowId);
    const { state } = await byHand(request, migrate('c1', { sql: 'DROP TABLE exec12' }));
    expect(state).toMatchObject({ end: { outcome: 'refused', code: 'TURN_CONFLICT' } });
    expect(received('DROP TABLE exec12')).toHaveLength(0);
    // The turn itself runs what was allowed once it is nudged: not in the middle of another test.
    await turn.results();
  });

  test('a hundred at once send once', async () => {
    const { request } = await begin(remove('c1', { id: 123 }));
    await harness.ledger.recordDecision(decisionOn(request, 'allow'), request.workflowId);
    await Promise.all(Array.from({ length: 20 }, () => byHand(request, remove('c1', { id: 123 }))));
    expect(received(123)).toHaveLength(1);
  });

  test('under a policy that changes each time it is about to send: UNSTABLE, on record, also when that is over', async () => {
    const call = remove('c1', { id: 21 });
    const { turn, request } = await begin(call);
    let versions = 0;
    const change = async () => {
      versions += 1;
      await harness.applyPolicy({ deadline: `{ after: ${30 + versions}m, then: expire }` });
    };
    steps.set(request.operationId, { beforeTransaction: change });
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'UNSTABLE' });
    expect(versions).toBe(5);
    steps.clear();
    expect(await harness.facts(request.operationId)).toContainEqual({
      kind: 'call.refused',
      body: expect.objectContaining({ code: 'UNSTABLE' }) as Record<string, unknown>,
    });
    expect(await byHand(request, call)).toMatchObject({ state: { end: { outcome: 'refused' } } });
    expect(received(21)).toHaveLength(0);
  });
});

describe('what comes back from the tool', () => {
  test('a refused connection after the record: failed, nothing was done [EXEC-11]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 11 }));
    steps.set(request.operationId, { afterTransaction: () => harness.tools.stop() });
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'failed', evidence: 'notSent' });
    expect(result!.textForModel).toMatch(/^FAILED: nothing was done\./);
    await harness.tools.start();
    expect(received(11)).toHaveLength(0);
  });

  test('a result with isError: executed with an error, not sent again [EXEC-11]', async () => {
    harness.tools.behave('delete_rows', { kind: 'isError' }, 1);
    const { turn, request } = await begin(remove('c1', { id: 111 }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'executed', result: { isError: true } });
    expect(received(111)).toHaveLength(1);
  });

  test.each([
    ['error -32603', { kind: 'error', commit: true } as const],
    ['a connection that is cut', { kind: 'commitThenDrop' } as const],
    ['HTTP 500', { kind: 'http', status: 500, work: true } as const],
    ['what is not JSON', json('{"jsonrpc":')],
    ['a result of another shape', json((id) => `{"jsonrpc":"2.0","id":${String(id)},"result":{"content":"done"}}`)],
    ['no answer in time', { kind: 'commitThenSilent' } as const],
  ])(
    '%s after the first byte: unknown where it cannot be looked up, and never sent again [EXEC-11]',
    async (name, behaviour) => {
      harness.tools.behave('send_mail', behaviour, 1);
      const to = `${name}@example.com`;
      const { turn, request } = await begin(mail('c1', { to }));
      await harness.decide(request, 'allow');
      const [result] = await turn.results();
      expect(result!.end).toMatchObject({ outcome: 'unknown' });
      expect(result!.textForModel).toMatch(/^OUTCOME UNKNOWN/);
      expect(received(to)).toHaveLength(1);
      expect(await harness.notices(request.operationId)).toContain(`${request.operationId}:unknown`);
    },
  );

  test.each([
    ['error -32603', { kind: 'error', commit: true } as const],
    ['no answer in time [EXEC-09]', { kind: 'commitThenSilent' } as const],
    ['an answer after the time-out [EXEC-09]', { kind: 'late' } as const],
  ])('%s: executed by look-up, one send [EXEC-11]', async (name, behaviour) => {
    harness.tools.behave('apply_migration', behaviour, 1);
    const { turn, request } = await begin(migrate('c1', { sql: name }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'executed', evidence: 'lookUp' });
    expect(received(name)).toHaveLength(1);
    expect(runs(name)).toHaveLength(1);
  });

  test('a look-up with the arguments of the call gets the operation id that Holdpoint filled in', async () => {
    const lookUp = 'arguments: { operation_id: { fill: operationId } }\n          executed';
    const [before, middle, after] = policyText({ url: harness.tools.url }).split(lookUp);
    const text = `${before!}${lookUp}${middle!}executed${after!}`;
    const parsed = parsePolicyFile(text, 'policy.yaml');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    await harness.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' });
    harness.tools.behave('apply_migration', { kind: 'commitThenDrop' }, 1);
    const { turn, request } = await begin(migrate('c1', { sql: 'looked up by its own' }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'executed', evidence: 'lookUp' });
    expect(harness.tools.receivedBy('find_migration').at(-1)?.arguments).toEqual({
      environment: 'production',
      sql: 'looked up by its own',
      operation_id: request.operationId,
    });
  });

  test('no answer and no effect: failed by look-up, after the tool had time to settle', async () => {
    harness.tools.behave('apply_migration', { kind: 'drop' }, 1);
    const { turn, request } = await begin(migrate('c1', { sql: 'dropped' }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'failed', evidence: 'lookUp' });
    expect(received('dropped')).toHaveLength(1);
  });

  test('a tool that is idempotent by the operation id is sent to again after proven absence', async () => {
    await harness.applyPolicy({ timeout: '1s', settleAfter: '0s', budget: '1s', idempotent: true });
    harness.tools.behave('apply_migration', { kind: 'drop' }, 1);
    const { turn, request } = await begin(migrate('c1', { sql: 'again' }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'executed', evidence: 'answer' });
    expect(received('again')).toHaveLength(2);
    expect(runs('again')).toHaveLength(1);
    expect(new Set(received('again').map((call) => call.operationId))).toEqual(new Set([request.operationId]));
  });

  test('a look-up that stays unreachable: unknown, never sent again, settled by a person [EXEC-08]', async () => {
    harness.tools.behave('apply_migration', { kind: 'commitThenDrop' }, 1);
    harness.tools.behave('find_migration', { kind: 'error' });
    const { turn, request } = await begin(migrate('c1', { sql: 'exec08' }));
    const { operationId } = request;
    await harness.decide(request, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'unknown']]);
    expect(received('exec08')).toHaveLength(1);
    const settled = await harness.ledger.settle({ operationId, outcome: 'executed', by: 'dana', reason: 'in the log' });
    expect(settled).toMatchObject({ ok: true, state: { end: { outcome: 'executed', evidence: 'settlement' } } });
    expect((await harness.facts(operationId)).at(-1)).toMatchObject({ kind: 'operation.settled' });
  });

  test('an upstream that asks for input inside an approved call gets none; the outcome is what it then reports [GATE-12]', async () => {
    harness.tools.behave('delete_rows', { kind: 'elicit' }, 1);
    const { turn, request } = await begin(remove('c1', { id: 912 }));
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'executed', result: { isError: true } });
    expect(result!.textForModel).toBe('no input was given');
    expect(runs(912)).toHaveLength(0);
  });

  test('a known outcome that the ledger could not take at once is written later, and never unknown', async () => {
    const { turn, request } = await begin(remove('c1', { id: 913 }));
    const cutOff = async () => {
      harness.store.down = true;
      setTimeout(() => (harness.store.down = false), 300);
    };
    steps.set(request.operationId, { afterSend: cutOff });
    await harness.decide(request, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect((await harness.ledger.operation(request.operationId))?.state).toBe('executed');
    expect(runs(913)).toHaveLength(1);
  });
});

describe('a start message', () => {
  test.each([
    ['a state', { status: 'allowed' }],
    ['an approval', { approved: true }],
    ['a decision', { decision: { answer: 'allow', reviewer: 'r1' } }],
  ])(
    'that carries %s for a call is refused, by hand and through the client [EXEC-16] [FORGE-1]',
    async (_name, more) => {
      const requester = someone();
      const call = { ...remove('c1', { id: 16 }), ...more };
      await expect(harness.start([call], { requester })).rejects.toMatchObject({ code: 'TURN_INVALID' });
      const result: TurnResult = await harness.holdpoint.client.workflow.execute('agentTurn', {
        workflowId: randomUUID(),
        taskQueue: harness.taskQueue,
        args: [{ v: 1, turnId: 't', requester, calls: [call] }],
      });
      expect(result.refusal).toMatchObject({ code: 'TURN_INVALID' });
      expect(received(16)).toHaveLength(0);
    },
  );

  test('that carries decisions for the turn is refused [EXEC-16]', async () => {
    const requester = someone();
    const result: TurnResult = await harness.holdpoint.client.workflow.execute('agentTurn', {
      workflowId: randomUUID(),
      taskQueue: harness.taskQueue,
      args: [{ v: 1, turnId: 't', requester, calls: [remove('c1', { id: 17 })], decisions: [{ answer: 'allow' }] }],
    });
    expect(result).toMatchObject({ refusal: { code: 'TURN_INVALID' }, results: [{ end: { outcome: 'refused' } }] });
    expect(received(17)).toHaveLength(0);
  });

  test('written by hand without a delegation chain asks and runs like any other', async () => {
    const { subject, agent } = someone();
    const workflowId = randomUUID();
    await harness.holdpoint.client.workflow.start('agentTurn', {
      workflowId,
      taskQueue: harness.taskQueue,
      args: [{ v: 1, turnId: randomUUID(), requester: { subject, agent }, calls: [remove('c1', { id: 18 })] }],
    });
    const handle = harness.holdpoint.client.workflow.getHandle(workflowId);
    const request = await eventually(async () => {
      const { requiredActions } = await handle.query<{ requiredActions: never[] }>('snapshot');
      expect(requiredActions).toHaveLength(1);
      return requiredActions[0]!;
    });
    await harness.decide(request, 'allow');
    expect(await handle.result()).toMatchObject({ results: [{ end: { outcome: 'executed' } }] });
    expect(runs(18)).toHaveLength(1);
  });
});

function json(text: string | ((id: unknown) => string)) {
  const body = typeof text === 'string' ? () => text : text;
  return { kind: 'http', status: 200, headers: { 'content-type': 'application/json' }, body, work: true } as const;
}
