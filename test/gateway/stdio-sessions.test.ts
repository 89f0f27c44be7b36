import { eventually } from '../support/eventually';
import { RawClient, whole } from '../support/gateway-stdio-client';
import { isRunning, openStage, pidOf } from '../support/gateway-stdio-stage';
import type { Stage, StageOptions } from '../support/gateway-stdio-stage';

const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}';
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

let stage: Stage;
const open = async (options?: StageOptions) => (stage = await openStage(options));
afterEach(() => stage.close());

const errorOf = async (answer: Promise<{ messages: string[]; ended: Promise<void> }>) => {
  const { messages, ended } = await answer;
  await ended;
  return (JSON.parse(messages[0] ?? '{}') as { error?: { code: number; message: string } }).error;
};

describe('a session at a server on stdio', () => {
  it('has a process of its own, and an id that no other client knows [SESS-1, SESS-3]', async () => {
    await open();
    const [a, b] = await Promise.all([stage.client(), stage.client({ subject: 'bob' })]);
    expect(a.session).not.toBe(b.session);
    const pids = [await pidOf(a), await pidOf(b)];
    expect(new Set(pids).size).toBe(2);
    expect(await pidOf(a)).toBe(pids[0]);
  });

  it('says its id on every response', async () => {
    await open();
    const client = await stage.client();
    for (const answer of [await client.post(PING), await client.get()]) {
      expect(answer.headers['mcp-session-id']).toBe(client.session);
      answer.leave();
    }
  });

  it.each([
    ['an id that nobody was given', 'never-given', undefined],
    ['the id of another person', undefined, 'bob'],
  ])('is answered 404 for %s [SESS-2]', async (_, session, subject) => {
    await open();
    const client = await stage.client();
    const other = new RawClient(stage.url, { session: session ?? client.session, ...(subject && { subject }) });
    const answers = [await other.post(PING), await other.get(), await other.delete()];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await client.post(PING)).status).toBe(200);
  });

  it('is not known after DELETE, and its process has ended [SESS-2]', async () => {
    await open();
    const client = await stage.client();
    const pid = await pidOf(client);
    const standing = await client.get();
    expect((await client.delete()).status).toBe(200);
    await standing.ended;
    expect((await client.post(PING)).status).toBe(404);
    expect((await client.initialise()).status).toBe(404);
    await eventually(() => expect(isRunning(pid)).toBe(false));
    client.session = undefined;
    expect((await client.initialise()).status).toBe(200);
  });

  it('ends when it was idle for long enough, but not while a stream is open', async () => {
    await open({ limits: { idleMs: 200 } });
    const [gone, stays] = await Promise.all([stage.client(), stage.client()]);
    await stays.get();
    const pid = await pidOf(gone);
    await eventually(() => expect(isRunning(pid)).toBe(false));
    expect((await gone.post(PING)).status).toBe(404);
    expect((await stays.post(PING)).status).toBe(200);
  });

  it('ends where it is the longest idle one and its requester wants one more than allowed', async () => {
    await open({ limits: { sessionsPerRequester: 2 } });
    const first = await stage.client();
    const second = await stage.client();
    await pidOf(first);
    await stage.client();
    expect((await second.post(PING)).status).toBe(404);
    expect((await first.post(PING)).status).toBe(200);
  });

  it('is refused with 429 where all of its requester are in use; others are not concerned', async () => {
    await open({ limits: { sessionsPerRequester: 2 } });
    await (await stage.client()).get();
    await (await stage.client()).call('1', 'hang');
    const refused = await new RawClient(stage.url).initialise();
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('10');
    expect(JSON.parse(refused.messages[0] ?? '')).toEqual({
      jsonrpc: '2.0',
      id: 'init',
      error: { code: -32000, message: 'You have 2 sessions in use at this server; end one (DELETE) first' },
    });
    expect((await stage.client({ subject: 'bob' })).session).toBeDefined();
  });

  it('is needed for all but initialize', async () => {
    await open();
    const client = new RawClient(stage.url);
    const answers = [await client.post(PING), await client.get(), await client.delete()];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
  });

  it('is initialised once', async () => {
    await open();
    const client = await stage.client();
    expect((await client.post(INITIALIZE)).status).toBe(400);
  });

  it('ends with the gateway, also in the middle of a call', async () => {
    await open();
    const client = await stage.client();
    const pid = await pidOf(client);
    await client.call('1', 'hang');
    await stage.close();
    expect(isRunning(pid)).toBe(false);
  });
});

describe('the headers of a request to a server on stdio', () => {
  it.each([
    ['a POST that takes only JSON', { Accept: 'application/json' }, 406],
    ['a POST that takes only events', { Accept: 'text/event-stream' }, 406],
    ['a POST that takes anything', { Accept: '*/*' }, 200],
    ['a POST with weights', { Accept: 'application/json;q=0.9, text/event-stream;q=0.1' }, 200],
    ['a POST of text', { 'Content-Type': 'text/plain' }, 415],
    ['a POST without a type', { 'Content-Type': undefined }, 415],
    ['a POST of JSON in UTF-8', { 'Content-Type': 'application/json; charset=utf-8' }, 200],
    ['a revision that nobody speaks', { 'MCP-Protocol-Version': '1999-01-01' }, 400],
    ['a revision that is spoken', { 'MCP-Protocol-Version': '2025-11-25' }, 200],
  ])('%s is answered %s %d', async (_, headers, status) => {
    await open();
    const client = await stage.client();
    expect((await client.post(PING, headers)).status).toBe(status);
  });

  it('a GET takes events', async () => {
    await open();
    const client = await stage.client();
    expect((await client.get({ Accept: 'application/json' })).status).toBe(406);
  });

  it('another method is told which there are', async () => {
    await open();
    const answer = await (await stage.client()).send('PUT', {});
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
  });
});

describe('a token without the scope for calls', () => {
  it('lists tools and calls none, whatever the policy says', async () => {
    await open();
    const client = await stage.client({ headers: { 'X-May-Call': 'no' } });
    expect((await client.post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).status).toBe(200);
    const refused = await client.call('2', 'bare');
    expect(refused.status).toBe(403);
    expect((await client.post('{"jsonrpc":"2.0","id":3,"method":"tasks/result"}')).status).toBe(403);
    await whole(Promise.resolve(refused));
    expect(JSON.parse(refused.messages[0] ?? '')).toEqual({
      ...{ jsonrpc: '2.0', id: 2, error: { code: -32000, message: 'The token may not call tools' } },
    });
    expect(stage.gate.judged).toEqual([]);
    expect(stage.linesRead().filter((line) => line.includes('tools/call'))).toEqual([]);
  });
});

describe('the process of a server on stdio', () => {
  it('that dies in mid-call answers every call in flight within 0.5 s, and the client initialises again [SESS-2]', async () => {
    await open();
    const client = await stage.client();
    const standing = await client.get();
    const hanging = [await client.call('0', 'hang'), await client.call('"0"', 'hang')];
    const start = performance.now();
    const dying = await client.call('2', 'die');
    await Promise.all([...hanging, dying, standing].map(({ ended }) => ended));
    expect(performance.now() - start).toBeLessThan(500);
    const message =
      'The process of the server "odd" ended (exit code 3) before it answered; whether this request ran is not known. Initialise again to go on';
    expect([...hanging, dying].map(({ messages }) => messages)).toEqual(
      ['0', '"0"', '2'].map((id) => [
        `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":${JSON.stringify(message)}}}`,
      ]),
    );
    expect((await client.post(PING)).status).toBe(404);
    expect((await stage.client()).session).toBeDefined();
  });

  it('that was killed from outside does the same', async () => {
    await open();
    const client = await stage.client();
    const pid = await pidOf(client);
    const hanging = await client.call('1', 'hang');
    const start = performance.now();
    process.kill(pid, 'SIGKILL');
    await hanging.ended;
    expect(performance.now() - start).toBeLessThan(500);
    expect(hanging.messages[0]).toContain('ended (SIGKILL) before it answered');
  });

  it('leaves its last words in the log, made safe to show', async () => {
    await open();
    await whole((await stage.client()).call('1', 'die'));
    expect(stage.log.entries).toContainEqual({
      level: 'warn',
      event: 'gateway.serverEnded',
      fields: { server: 'odd', how: 'exit code 3', stderr: 'the disk is full⟦U+0007⟧⟦U+000A⟧' },
    });
  });

  it('that cannot be started is an error that says so, and is not tried in a tight loop', async () => {
    await open({ command: '/no/such/program' });
    const client = new RawClient(stage.url);
    expect(await errorOf(client.post(INITIALIZE))).toEqual({
      code: -32000,
      message: 'The server "odd" cannot be started: /no/such/program cannot be started: spawn /no/such/program ENOENT',
    });
    expect((await errorOf(client.post(INITIALIZE)))?.message).toMatch(/ENOENT \(a moment ago\)$/);
  });

  it('that ends instead of answering initialize is an error too', async () => {
    await open({ args: ['-e', 'process.exit(4)'] });
    const answer = new RawClient(stage.url).post(INITIALIZE);
    expect((await answer).headers['mcp-session-id']).toBeUndefined();
    expect(await errorOf(answer)).toEqual({
      code: -32000,
      message:
        'The server "odd" cannot be started: its process ended (exit code 4); the log of the gateway has what it said last',
    });
  });

  it('that does not answer initialize in time is ended', async () => {
    await open({ env: { MUTE: '1' }, limits: { handshakeMs: 300 } });
    expect((await errorOf(new RawClient(stage.url).post(INITIALIZE)))?.message).toMatch(
      /did not answer within 300 ms$/,
    );
  });

  it('is not started where a secret is missing', async () => {
    await open({ env: { TOKEN: '${NOT_SET}' } });
    expect((await errorOf(new RawClient(stage.url).post(INITIALIZE)))?.message).toBe(
      'The server "odd" cannot be started: ${NOT_SET} is not set; set it where the gateway runs and start it again',
    );
  });
});
