import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { connect, type Requester, type TurnStart } from '../../client';
import { migrate, read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { sendJson, startRawMcpServer } from '../support/raw-mcp-server';
import { outcomes, statuses } from '../support/messages';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());

describe('a turn that cannot be one is refused before anybody is asked', () => {
  test.each([
    ['two calls with one id', { calls: [read('c1'), read('c1')] }, /call id "c1" is used twice/],
    ['no calls', { calls: [] }, /calls/],
    ['an empty turn id', { id: '' }, /turnId/],
    ['a turn id of 201 characters', { id: 'x'.repeat(201) }, /turnId/],
    ['a turn id with a control character', { id: 'a\u0000b' }, /control character/],
    ['a call id with half a character', { calls: [read('\ud800')] }, /control character/],
    ['an agent without a name', { requester: { subject: 'u1', agent: '', chain: [] } }, /agent/],
    ['a chain of 17', { requester: { subject: 'u1', agent: 'b', chain: Array<string>(17).fill('x') } }, /chain/],
    ['confirm as a word', { calls: [read('c1', { confirm: 'yes' as never })] }, /confirm/],
    ['arguments that JSON would change', { calls: [read('c1', { arguments: { at: new Date(0) } })] }, /c1/],
    ['a number beyond 2^53', { calls: [read('c1', { arguments: { id: 2 ** 53 } })] }, /c1/],
  ])('%s', async (_name, change, message) => {
    const {
      id = randomUUID(),
      requester = someone(),
      calls = [read()],
    } = change as Partial<{ id: string; requester: Requester; calls: TurnStart['calls'] }>;
    await expect(harness.start(calls, { id, requester })).rejects.toMatchObject({
      name: 'HoldpointError',
      code: 'TURN_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('a turn started by hand, past the client, is refused whole', () => {
  const byHand = async (calls: readonly unknown[]) => {
    const workflowId = randomUUID();
    const args = [{ v: 1, turnId: workflowId, requester: someone(), calls }];
    const { holdpoint, taskQueue } = harness;
    return holdpoint.client.workflow.execute('agentTurn', { workflowId, taskQueue, args }) as Promise<unknown>;
  };

  test.each([
    ['9,000 calls', Array.from({ length: 9_000 }, (_, index) => read(`c${index}`))],
    ['a call id of 100,000 characters', [read('x'.repeat(100_000))]],
    ['half a character in the arguments of one of two calls', [remove('c1'), read('c2', { arguments: ['\ud800'] })]],
    ['a note of half a character', [remove('c1', { id: 1 }, { note: '\ud800' })]],
    ['arguments 2,000 deep', [read('c1', { arguments: JSON.parse('['.repeat(2_000) + ']'.repeat(2_000)) as unknown })]],
  ])('%s', async (_name, calls) => {
    const asked = async () => (await harness.facts()).length;
    const before = await asked();
    expect(await byHand(calls)).toMatchObject({ results: [], refusal: { code: 'TURN_INVALID' } });
    expect(await asked()).toBe(before);
  });
});

describe('a call that cannot be made refuses itself, its siblings go on', () => {
  test.each([
    ['an unknown server', 'SERVER_UNKNOWN', { ...read('c1'), server: 'orders' }],
    ['the name of a prototype as server', 'SERVER_UNKNOWN', { ...read('c1'), server: '__proto__' }],
    ['an unknown tool', 'TOOL_UNKNOWN', { ...read('c1'), tool: 'drop_all' }],
    ['the name of a prototype as tool', 'TOOL_UNKNOWN', { ...read('c1'), tool: 'constructor' }],
    ['arguments that break the schema', 'ARGUMENTS_INVALID', remove('c1', { id: '7' })],
    ['a missing argument', 'ARGUMENTS_INVALID', remove('c1', {})],
    ['an argument too many', 'ARGUMENTS_INVALID', migrate('c1', { extra: 1 })],
    ['a list as arguments', 'ARGUMENTS_INVALID', { ...read('c1'), arguments: [1] }],
    ['null as arguments', 'ARGUMENTS_INVALID', { ...read('c1'), arguments: null }],
    ['an argument that Holdpoint fills', 'ARGUMENT_RESERVED', migrate('c1', { operation_id: 'op_mine' })],
  ])('%s: %s', async (_name, code, call) => {
    const turn = await harness.start([call, read('c2')], { requester: someone() });
    const results = await turn.results();
    expect(results.map((result) => result.outcome)).toEqual(['refused', 'executed']);
    expect(results[0]!.end).toMatchObject({ code });
    expect(results[0]!.textForModel).toMatch(/^REFUSED: not executed\./);
    const facts = (await harness.facts(results[0]!.operationId)).map((fact) => fact.kind);
    expect(facts).toEqual(['call.refused']);
    expect(await harness.notices(results[0]!.operationId)).toEqual([]);
  });

  test('a person without access learns nothing of the tool', async () => {
    const requester = { subject: 'nobody', agent: 'bot', chain: [] };
    const turn = await harness.start([remove('c1', { id: '7' }), { ...read('c2'), tool: 'drop_all' }], { requester });
    const results = await turn.results();
    expect(results.map((result) => result.end)).toMatchObject([{ code: 'ACCESS_DENIED' }, { code: 'ACCESS_DENIED' }]);
  });

  test('the eleventh open request of a requester is refused, the ten stay', async () => {
    const calls = Array.from({ length: 11 }, (_, index) => remove(`c${index}`, { id: index }));
    const turn = await harness.start(calls, { requester: someone() });
    await harness.requests(turn, 10);
    expect(await statuses(turn)).toEqual([...Array<string>(10).fill('pending'), 'refused']);
    await turn.withdraw();
    expect((await outcomes(turn)).map(([, outcome]) => outcome)).toEqual([
      ...Array<string>(10).fill('withdrawn'),
      'refused',
    ]);
  });
});

describe('what is down', () => {
  test('a tool server that answers its list with half a character refuses the call', async () => {
    const broken = await startRawMcpServer(({ message }, response) => {
      if (message?.method !== 'tools/list') return false;
      return sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: 1, message: 'no \ud800\u0000' } });
    });
    await harness.applyPolicy({ url: broken.url });
    const turn = await harness.start([remove()], { requester: someone() });
    const [result] = await turn.results();
    await harness.applyPolicy();
    await broken.close();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'SERVER_UNREACHABLE' });
    expect(result!.textForModel).not.toContain('error 1');
  });

  test('a tool server that is down refuses the call and says so; nothing is asked', async () => {
    await harness.tools.stop();
    const turn = await harness.start([remove()], { requester: someone() });
    const [result] = await turn.results();
    await harness.tools.start();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'SERVER_UNREACHABLE' });
    expect(result!.textForModel).toContain('orders-db');
  });

  test('a tool server that is away when an approved call is due is asked again, and the call runs once', async () => {
    const turn = await harness.start([remove('c1', { id: 8 })], { requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.tools.stop();
    const away = createServer((socket) => socket.destroy()).listen(
      Number(new URL(harness.tools.url).port),
      '127.0.0.1',
    );
    await once(away, 'listening');
    let asked = 0;
    away.on('connection', () => (asked += 1));
    await harness.decide(request!, 'allow');
    // One request alone tries twice.
    await eventually(() => expect(asked).toBeGreaterThan(3));
    away.close();
    await once(away, 'close');
    await harness.tools.start();
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect(harness.tools.received.filter((call) => call.arguments['id'] === 8)).toHaveLength(1);
  });

  test('a call that is taken back while its server is away is not sent when it comes back', async () => {
    const turn = await harness.start([remove('c1', { id: 11 })], { requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.tools.stop();
    await harness.decide(request!, 'allow');
    await turn.withdraw();
    await eventually(async () => {
      const facts = await harness.facts(request!.operationId);
      expect(facts.map((fact) => fact.kind)).toContain('request.withdrawn');
    });
    await harness.tools.start();
    expect(await outcomes(turn)).toEqual([['c1', 'withdrawn']]);
    expect(harness.tools.received.filter((call) => call.arguments['id'] === 11)).toHaveLength(0);
  });

  test('a tool server that stays down when an approved call is due: refused, nothing was sent, the decision is on record', async () => {
    const turn = await harness.start([remove('c1', { id: 9 })], { requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.tools.stop();
    await harness.decide(request!, 'allow');
    const [result] = await turn.results();
    await harness.tools.start();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'SERVER_UNREACHABLE' });
    expect(harness.tools.received.filter((call) => call.arguments['id'] === 9)).toHaveLength(0);
    const facts = await harness.facts(request!.operationId);
    expect(facts.map((fact) => fact.kind)).toContain('decision.recorded');
  });

  test('a ledger that is down while a turn starts: the turn opens when it is up', async () => {
    harness.store.down = true;
    const starting = harness.start([remove('c1', { id: 10 })], { requester: someone() });
    setTimeout(() => (harness.store.down = false), 500);
    const turn = await starting;
    await harness.requests(turn);
    await turn.withdraw();
    expect(await outcomes(turn)).toEqual([['c1', 'withdrawn']]);
  });

  test('no policy: nothing runs, and the message says who applies one', async () => {
    await harness.store.write(({ db }) => db.updateTable('policies').set({ active: 0 }).execute());
    const turn = await harness.start([read()], { requester: someone() });
    const [result] = await turn.results();
    await harness.applyPolicy();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'NO_POLICY' });
  });

  test('a Temporal server that is not there: a typed error that names its address', async () => {
    await expect(connect({ address: '127.0.0.1:1' })).rejects.toMatchObject({
      code: 'TEMPORAL_UNREACHABLE',
      message: expect.stringContaining('127.0.0.1:1') as string,
    });
  });
});
