import type { IncomingCall } from '../../gateway/ports';
import type { RpcReply } from '../../activities/rpc';
import { eventually } from '../support/eventually';
import { whole } from '../support/gateway-stdio-client';
import type { RawClient } from '../support/gateway-stdio-client';
import { toolOf } from '../support/gateway-stdio-gate';
import { isRunning, openStage, pidOf } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';

let stage: Stage;
let client: RawClient;
beforeEach(async () => {
  stage = await openStage();
  client = await stage.client({ capabilities: '{"roots":{},"elicitation":{}}' });
});
afterEach(() => stage.close());

const seen = (name: string) => stage.linesRead().filter((line) => line.includes(`"name":"${name}"`));
/** Makes the gate wait for the first call of `tool`, and gives that call. */
const waitFor = (tool: string) => {
  let go: () => void = () => undefined;
  const going = new Promise<void>((resolve) => (go = resolve));
  const delivered = jest.fn();
  const came = new Promise<IncomingCall>((resolve) => {
    stage.gate.say = async (call) => {
      if (toolOf(call.message) !== tool) return { kind: 'pass' };
      resolve(call);
      await going;
      return { kind: 'result', result: { content: [] }, delivered };
    };
  });
  return { came, go: () => go(), delivered };
};
const own = async (name: string, args = {}, rest: { timeoutMs?: number; repeatable?: boolean } = {}) => {
  await whole(client.call('"first"', 'bare'));
  const [call] = stage.gate.judged;
  return call?.session.request({
    ...{ method: 'tools/call', params: { name, arguments: args } },
    ...{ timeoutMs: 5_000, repeatable: false, ...rest },
  });
};
const textOf = (reply: RpcReply | undefined) =>
  reply?.kind === 'result' ? (reply.result['content'] as { text: string }[])[0]?.text : reply;

describe('the gate before a server on stdio', () => {
  it('judges calls of tools and what concerns tasks, and nothing else', async () => {
    await whole(client.call('1', 'bare'));
    for (const method of ['ping', 'tools/list'])
      await whole(client.post(`{"jsonrpc":"2.0","id":2,"method":"${method}"}`));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list']) {
      await client.post(`{"jsonrpc":"2.0","id":"${method}","method":"${method}"}`);
    }
    expect(stage.gate.judged.map(({ message }) => message.method)).toEqual([
      ...['tools/call', 'tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list'],
    ]);
    expect(stage.gate.judged[0]?.session).toMatchObject({
      ...{ server: 'odd', requester: { subject: 'alice', agent: 'agent', chain: [] } },
      ...{ clientName: 'raw', revision: '2025-06-18', roots: null },
    });
  });

  it.each(['0', '"0"', '1.0', '"\\u0061"'])('answers under the id %s as it was written', async (id) => {
    const delivered = jest.fn();
    stage.gate.say = () => ({ kind: 'result', result: { content: [], n: 1 }, delivered });
    expect(await whole(client.call(id, 'bare'))).toEqual([
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"n":1}}`,
    ]);
    expect(delivered).toHaveBeenCalledTimes(1);
    stage.gate.say = () => ({ kind: 'error', error: { code: -32602, message: 'é' } });
    expect(await whole(client.call(id, 'bare'))).toEqual([
      `{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"é"}}`,
    ]);
    expect(seen('bare')).toEqual([]);
  });

  it('keeps nothing else of the session waiting', async () => {
    const { came, go, delivered } = waitFor('echo');
    const waiting = await client.call('1', 'echo');
    await came;
    expect(await whole(client.call('2', 'bare'))).toHaveLength(1);
    expect(waiting.headers['content-type']).toBe('text/event-stream');
    expect(delivered).not.toHaveBeenCalled();
    go();
    await waiting.ended;
    expect(waiting.messages).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"content":[]}}']);
    expect(delivered).toHaveBeenCalledTimes(1);
  });

  it('may say how a call goes before it answers [EVT-08]', async () => {
    const { came, go } = waitFor('echo');
    const waiting = await client.call('1', 'echo');
    const { notify } = await came;
    notify?.('notifications/progress', { progressToken: 't', progress: 1 });
    go();
    await waiting.ended;
    expect(waiting.messages).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}',
      '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}',
    ]);
  });

  it.each(['0', '"0"', '5'])('is told of a cancel of id %s, which the server never hears of [WIRE-3]', async (id) => {
    const { came, go, delivered } = waitFor('echo');
    const waiting = await client.call(id, 'echo');
    const { signal } = await came;
    expect(signal.aborted).toBe(false);
    await client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
    expect(signal.aborted).toBe(true);
    go();
    await waiting.ended;
    expect(waiting.messages).toEqual([]);
    expect(delivered).not.toHaveBeenCalled();
    await pidOf(client);
    expect(stage.linesRead().filter((line) => line.includes('cancelled'))).toEqual([]);
  });

  it('is told when the client leaves the call, and its answer was not delivered [WIRE-4]', async () => {
    const { came, go, delivered } = waitFor('echo');
    const waiting = await client.call('1', 'echo');
    const { signal } = await came;
    waiting.leave();
    await eventually(() => expect(signal.aborted).toBe(true));
    go();
    await pidOf(client);
    expect(delivered).not.toHaveBeenCalled();
  });

  it('that passes a call which was cancelled meanwhile sends nothing', async () => {
    let go: () => void = () => undefined;
    stage.gate.say = () => new Promise((resolve) => (go = () => resolve({ kind: 'pass' })));
    const waiting = await client.call('1', 'echo');
    await client.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}');
    go();
    await waiting.ended;
    stage.gate.say = () => ({ kind: 'pass' });
    await pidOf(client);
    expect(seen('echo')).toEqual([]);
  });

  it('may still answer when the process has ended meanwhile; what it passes then is not executed', async () => {
    const waits: (() => void)[] = [];
    stage.gate.say = async ({ message }) => {
      if (toolOf(message) === 'die') return { kind: 'pass' };
      await new Promise<void>((resolve) => waits.push(resolve));
      if (toolOf(message) === 'bare') return { kind: 'pass' };
      return { kind: 'result', result: { content: [] }, delivered: () => undefined };
    };
    const [passed, answered] = [await client.call('1', 'bare'), await client.call('2', 'echo')];
    await whole(client.call('3', 'die'));
    for (const go of waits) go();
    await Promise.all([passed.ended, answered.ended]);
    expect(passed.messages[0]).toContain('"id":1,"error":{"code":-32000,"message":"NOT executed');
    expect(answered.messages).toEqual(['{"jsonrpc":"2.0","id":2,"result":{"content":[]}}']);
  });

  it('that fails has executed nothing', async () => {
    stage.gate.say = () => Promise.reject(new Error('a fault'));
    const [answer] = await whole(client.call('1', 'bare'));
    expect(JSON.parse(answer ?? '')).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(answer).toContain('NOT executed');
    expect(seen('bare')).toEqual([]);
  });

  it('sees an id that is in flight twice only once', async () => {
    const { came } = waitFor('echo');
    await client.call('1', 'echo');
    await came;
    expect((await client.call('1', 'echo')).status).toBe(400);
    expect(stage.gate.judged).toHaveLength(1);
  });

  it('shows the list of tools; other messages do not wait for that', async () => {
    let go: () => void = () => undefined;
    stage.gate.show = (text) => new Promise((resolve) => (go = () => resolve(text.replace('Echo', 'Gated echo'))));
    const listing = await client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    expect(await whole(client.call('2', 'bare'))).toHaveLength(1);
    go();
    await listing.ended;
    expect(listing.messages).toHaveLength(1);
    expect(listing.messages[0]).toContain('"title":"Gated echo"');
    expect(listing.messages[0]).toContain('9007199254740993');
  });

  it('that cannot show the list shows none', async () => {
    stage.gate.show = () => Promise.reject(new Error('a fault'));
    const [answer] = await whole(client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
    expect(JSON.parse(answer ?? '')).toMatchObject({ id: 1, error: { code: -32603 } });
  });
});

describe('what the gate itself asks on the session of a client', () => {
  it('runs in the process of the client, and its answer is not shown to it', async () => {
    const standing = await client.get();
    expect(textOf(await own('bare'))).toBe(`pid ${await pidOf(client)}`);
    expect(standing.messages).toEqual([]);
  });

  it('fails as the server says', async () => {
    expect(await own('fail')).toEqual({ kind: 'error', code: -32050, message: 'disk full', httpStatus: null });
  });

  it('is lost when its time is over, and the server is told', async () => {
    expect(await own('hang', {}, { timeoutMs: 100 })).toEqual({
      ...{ kind: 'lost', detail: 'no answer within 100 ms', timedOut: true },
    });
    await pidOf(client);
    const [line] = stage.linesRead().filter((text) => text.includes('notifications/cancelled'));
    expect(line).toMatch(/"requestId":"holdpoint-[\w-]{22}-1"/);
  });

  it('is lost when the process ends, at once', async () => {
    const start = performance.now();
    expect(await own('die')).toEqual({
      ...{ kind: 'lost', detail: 'the process of the server ended (exit code 3)', timedOut: false },
    });
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it('is not dispatched once the session is over', async () => {
    await own('bare');
    await client.delete();
    expect(
      await stage.gate.judged[0]?.session.request({ method: 'ping', params: {}, timeoutMs: 1_000, repeatable: true }),
    ).toEqual({ kind: 'notDispatched', detail: 'the session of the client has ended' });
  });

  it('is not dispatched where it comes too late', async () => {
    await own('bare');
    const request = { method: 'tools/call', params: { name: 'echo' }, timeoutMs: 1_000, repeatable: false };
    expect((await stage.gate.judged[0]?.session.request({ ...request, isLate: () => true }))?.kind).toBe(
      'notDispatched',
    );
    await pidOf(client);
    expect(seen('echo')).toEqual([]);
  });

  it('is answered, and the process ends after that, where the client leaves meanwhile', async () => {
    const pid = await pidOf(client);
    const reply = own('slow');
    await eventually(() => expect(seen('slow')).toHaveLength(1));
    await client.delete();
    expect((await client.call('1', 'bare')).status).toBe(404);
    expect(textOf(await reply)).toBe('done');
    await eventually(() => expect(isRunning(pid)).toBe(false));
  });
});

describe('nothing that nobody approved enters an approved call', () => {
  const refusal = (id: string, method: string) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"This client does not serve ${method}"}}`;

  it.each(['elicitation/create', 'sampling/createMessage'])(
    '%s is refused, and the client never sees it [GATE-12]',
    async (method) => {
      const standing = await client.get();
      const hanging = await client.call('9', 'hang');
      expect(textOf(await own('ask', { askId: 0, method }))).toBe(refusal('0', method));
      expect([standing.messages, hanging.messages]).toEqual([[], []]);
    },
  );

  it('is refused too where the gate only reads, unless a call of the client runs beside it', async () => {
    const method = 'elicitation/create';
    const read = { repeatable: true };
    expect(textOf(await own('ask', { askId: 1, method }, read))).toBe(refusal('1', method));
    const hanging = await client.call('9', 'hang');
    const reading = stage.gate.judged[0]?.session.request({
      ...{ method: 'tools/call', params: { name: 'ask', arguments: { askId: 2, method } } },
      ...{ timeoutMs: 5_000, repeatable: true },
    });
    await eventually(() => expect(hanging.messages).toHaveLength(1));
    await client.post('{"jsonrpc":"2.0","id":2,"result":{}}');
    expect(textOf(await reading)).toBe('{"jsonrpc":"2.0","id":2,"result":{}}');
  });

  it('an answer that the client guesses ahead does not reach the server', async () => {
    await client.post('{"jsonrpc":"2.0","id":3,"result":{"action":"accept"}}');
    expect(textOf(await own('ask', { askId: 3, method: 'elicitation/create' }))).toBe(
      refusal('3', 'elicitation/create'),
    );
    expect(stage.linesRead().filter((line) => line.includes('accept'))).toEqual([]);
  });

  it('a ping is answered; the roots are asked of the client, which said that it has some', async () => {
    expect(textOf(await own('ask', { askId: 4, method: 'ping' }))).toBe('{"jsonrpc":"2.0","id":4,"result":{}}');
    const standing = await client.get();
    const reply = own('ask', { askId: 5, method: 'roots/list' });
    await eventually(() => expect(standing.messages).toHaveLength(1));
    await client.post('{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}');
    expect(textOf(await reply)).toBe('{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}');
  });

  it('the roots are not asked of a client that has none', async () => {
    client = await stage.client({ capabilities: '{}' });
    expect(textOf(await own('ask', { askId: 6, method: 'roots/list' }))).toBe(refusal('6', 'roots/list'));
  });
});
