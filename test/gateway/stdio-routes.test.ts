import { eventually } from '../support/eventually';
import { whole } from '../support/gateway-stdio-client';
import type { Answer, RawClient } from '../support/gateway-stdio-client';
import { openStage } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';

let stage: Stage;
let client: RawClient;
beforeEach(async () => {
  stage = await openStage({ limits: { cancelledMs: 300 } });
  client = await stage.client();
});
afterEach(() => stage.close());

const question = (id: string, method = 'elicitation/create') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"odd":1e400}}`;
const ask = (id: string, method = 'elicitation/create') => `{"askId":${id},"method":"${method}"}`;
const cancel = (id: string) =>
  client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"é"}}`);
const textOf = (message: string | undefined) =>
  (JSON.parse(message ?? '{}') as { result: { content: [{ text: string }] } }).result.content[0].text;
const first = (answer: Answer) =>
  eventually(() => {
    expect(answer.messages).not.toEqual([]);
    return answer.messages;
  });

describe('what a server asks its client', () => {
  it.each(['0', '"1"', '1', '"é"'])(
    'inside a call is written at once, and the answer to id %s goes back to the byte [SESS-5]',
    async (id) => {
      const calling = await client.call('1', 'ask', ask(id));
      expect(await first(calling)).toEqual([question(id)]);
      const answer = `{"result":{"action":"accept" , "n":0.10},"id":${id},"jsonrpc":"2.0"}`;
      expect((await client.post(answer)).status).toBe(202);
      await calling.ended;
      expect(textOf(calling.messages[1])).toBe(answer);
    },
  );

  it('goes to the client that owns the session only [SESS-5, SESS-3]', async () => {
    const other = await stage.client();
    const others = [await other.get(), await other.call('1', 'hang')];
    expect(await first(await client.call('1', 'ask', ask('5')))).toHaveLength(1);
    expect(others.map(({ messages }) => messages)).toEqual([[], []]);
  });

  it('is answered by its own id and type: "1" does not answer 1', async () => {
    const calling = await client.call('1', 'ask', ask('1'));
    await first(calling);
    await client.post('{"jsonrpc":"2.0","id":"1","result":{}}');
    await client.post('{"jsonrpc":"2.0","id":1,"result":{"right":true}}');
    await calling.ended;
    expect(textOf(calling.messages[1])).toBe('{"jsonrpc":"2.0","id":1,"result":{"right":true}}');
  });

  it('is answered once; what answers no question does not reach the server', async () => {
    const calling = await client.call('1', 'ask', ask('1'));
    await first(calling);
    for (const id of ['1', '1', '2']) await client.post(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    await calling.ended;
    expect(stage.linesRead().filter((line) => line.endsWith('"result":{}}'))).toHaveLength(1);
  });

  it('of its roots is remembered for the gate', async () => {
    const calling = await client.call('1', 'ask', ask('1', 'roots/list'));
    await first(calling);
    const [session] = stage.gate.judged.map((call) => call.session);
    expect([session?.roots, session?.clientName, session?.revision]).toEqual([null, 'raw', '2025-06-18']);
    await client.post('{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}');
    await calling.ended;
    expect(session?.roots).toEqual([{ uri: 'file:///a' }]);
  });
});

describe('what a server says to nobody in particular', () => {
  const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';

  it('goes to the standing stream [SESS-4]', async () => {
    const standing = await client.get();
    await whole(client.call('1', 'changed'));
    expect(await first(standing)).toEqual([CHANGED]);
  });

  it('goes to the newest one only, where there are two', async () => {
    const [older, newer] = [await client.get(), await client.get()];
    await whole(client.call('1', 'changed'));
    expect(await first(newer)).toEqual([CHANGED]);
    expect(older.messages).toEqual([]);
  });

  it('waits for a standing stream where there is none [SESS-4]', async () => {
    await whole(client.call('1', 'changed'));
    expect(await first(await client.get())).toEqual([CHANGED]);
  });

  it('goes with the next request where the client opens no standing stream', async () => {
    await whole(client.call('1', 'changed'));
    const [changed, pong] = await whole(client.post('{"jsonrpc":"2.0","id":2,"method":"ping"}'));
    expect([changed, pong]).toEqual([CHANGED, '{"jsonrpc":"2.0","id":2,"result":{}}']);
  });

  it('is left out where it is no message', async () => {
    expect(await whole(client.call('1', 'noise'))).toHaveLength(1);
  });
});

describe('ids and progress', () => {
  it('of two clients that are the same stay apart, and 1 and "1" are two [SESS-6]', async () => {
    const other = await stage.client({ subject: 'bob' });
    const ids = ['1', '"1"', '0', '"0"'];
    const calls = await Promise.all(
      [client, other].flatMap((one, n) => ids.map((id) => whole(one.call(id, 'echo', `{"from":${n}}`)))),
    );
    for (const [at, messages] of calls.entries()) {
      expect(messages).toHaveLength(1);
      expect(messages[0]).toContain(`"id":${ids[at % 4] ?? ''},"result"`);
      expect(messages[0]).toContain(`\\"from\\":${Math.floor(at / 4)}`);
    }
  });

  it('an id that is in flight is refused before the server sees it, and the first call still answers', async () => {
    const held = await client.call('1', 'hang');
    const refused = await client.call('1', 'bare');
    await refused.ended;
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.messages[0] ?? '')).toMatchObject({ id: 1, error: { code: -32600 } });
    await whole(client.call('2', 'release'));
    await held.ended;
    expect(textOf(held.messages[0])).toBe('released');
    expect(stage.linesRead().filter((line) => line.includes('bare'))).toEqual([]);
    expect((await client.call('1', 'bare')).status).toBe(200);
  });

  it('progress goes to the call that asked for it, by token and type [WIRE-1]', async () => {
    const other = await stage.client({ subject: 'bob' });
    const progressing = (one: RawClient, id: number, token: string) =>
      whole(
        one.post(
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"progress","arguments":{},"_meta":{"progressToken":${token}}}}`,
        ),
      );
    const all = await Promise.all([
      progressing(client, 1, '1'),
      progressing(client, 2, '"1"'),
      progressing(other, 1, '1'),
    ]);
    for (const [at, messages] of all.entries()) {
      const token = ['1', '"1"', '1'][at] ?? '';
      const at1 = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1.0,"total":2}}`;
      expect(messages.slice(0, 2)).toEqual([at1, at1.replace('"progress":1.0', '"progress":2.0')]);
      expect(messages).toHaveLength(3);
    }
  });

  it('a second answer to one request goes nowhere', async () => {
    const messages = await whole(client.call('1', 'twice'));
    expect(messages.map(textOf)).toEqual(['first']);
  });

  it('at most as many requests as allowed are in flight', async () => {
    await stage.close();
    stage = await openStage({ limits: { requestsInFlight: 2 } });
    client = await stage.client();
    await client.call('1', 'hang');
    await client.call('2', 'hang');
    expect((await client.call('3', 'bare')).status).toBe(429);
  });
});

describe('the response to a request', () => {
  it('is plain JSON where the answer comes at once, and a stream that shows signs of life where it does not', async () => {
    await stage.close();
    stage = await openStage({ limits: { keepAliveMs: 20 } });
    client = await stage.client();
    const quick = await client.call('1', 'bare');
    expect(quick.headers['content-type']).toBe('application/json');
    const slow = await client.call('2', 'hang');
    expect(slow.headers['content-type']).toBe('text/event-stream');
    const standing = await client.get();
    for (const { comments } of [slow, standing]) {
      await eventually(() => expect(comments.slice(0, 2)).toEqual([': still here', ': still here']));
    }
  });
});

describe('a cancel of an ungated call', () => {
  it.each(['0', '"0"', '7'])('of id %s reaches the server to the byte [WIRE-2, WIRE-3]', async (id) => {
    const held = await client.call(id, 'hang');
    expect((await cancel(id)).status).toBe(202);
    await held.ended;
    expect(held.messages).toEqual([]);
    expect(stage.linesRead()).toContain(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"é"}}`,
    );
  });

  it('of an id that is not in flight goes nowhere', async () => {
    await client.call('7', 'hang');
    await cancel('"7"');
    await whole(client.call('8', 'bare'));
    expect(stage.linesRead().filter((line) => line.includes('cancelled'))).toEqual([]);
  });

  it('is not the same as leaving its stream', async () => {
    const held = await client.call('7', 'hang');
    held.leave();
    await whole(client.call('8', 'release'));
    expect(stage.linesRead().filter((line) => line.includes('cancelled'))).toEqual([]);
    expect((await client.call('7', 'bare')).status).toBe(200);
  });
});
