import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createToolServers } from '../../activities/tool-servers';
import type { ToolServers } from '../../activities/tool-servers';
import type { ToolAnswer, ToolListing } from '../../activities/tool-server';
import { eventually } from '../support/eventually';
import { eventOf, OK, openStream, sendJson, startRawMcpServer } from '../support/raw-mcp-server';
import type { RawAnswer, RawMcpServer, RawRequest } from '../support/raw-mcp-server';
import { httpServerEntry } from '../support/server-entry';

let upstream: RawMcpServer;
let servers: ToolServers;
let warnings: string[];

beforeEach(() => {
  warnings = [];
  servers = createToolServers({
    resolveSecret: (name) => (name === 'TOKEN' ? 't0k' : undefined),
    log: { warn: (_: unknown, event?: string) => void warnings.push(event ?? '') },
  });
});
afterEach(async () => {
  await servers.closeAll();
  await upstream.close();
});

/** A server that answers calls by `answer`, and everything else well. */
async function calling(
  answer: (id: number, response: ServerResponse, request: RawRequest) => void,
): Promise<ToolAnswer> {
  upstream = await startRawMcpServer((request, response) => {
    if (request.message?.method !== 'tools/call') return false;
    answer(request.message.id ?? 0, response, request);
    return true;
  });
  return call();
}

function call(timeoutMs = 5_000, headers = {}): Promise<ToolAnswer> {
  const server = servers.get(httpServerEntry(upstream.url, headers));
  return server.callTool({ name: 'act', arguments: {}, timeoutMs });
}

async function listing(answer: RawAnswer): Promise<ToolListing> {
  upstream = await startRawMcpServer(answer);
  return servers.get(httpServerEntry(upstream.url)).listTools();
}

const ok = { kind: 'result', bytes: 41, result: OK };
const result = (id: unknown, body: unknown = OK) => ({ jsonrpc: '2.0', id, result: body });
const sentOnce = () => expect(upstream.methods().filter((method) => method === 'tools/call')).toHaveLength(1);

describe('an answer that is none', () => {
  it.each<{ name: string; body: (id: number) => string; detail: string }>([
    { name: 'text', body: () => 'done!', detail: 'the answer is not JSON' },
    { name: 'JSON cut short', body: (id) => `{"jsonrpc":"2.0","id":${id},"res`, detail: 'the answer is not JSON' },
    { name: 'nothing', body: () => '', detail: 'the answer is not JSON' },
    {
      name: 'neither result nor error',
      body: (id) => JSON.stringify({ jsonrpc: '2.0', id }),
      detail: 'the answer is neither a result nor an error',
    },
    {
      name: 'a result that is a number',
      body: (id) => JSON.stringify(result(id, 5)),
      detail: 'the answer is neither a result nor an error',
    },
    {
      name: "another request's answer",
      body: (id) => JSON.stringify(result(id + 7)),
      detail: 'the answer belongs to another request',
    },
    {
      name: 'an empty result',
      body: (id) => JSON.stringify(result(id, {})),
      detail: 'the answer has not the form of a tool result',
    },
    {
      name: 'content that is text',
      body: (id) => JSON.stringify(result(id, { content: 'done' })),
      detail: 'the answer has not the form of a tool result',
    },
    {
      name: 'isError as text',
      body: (id) => JSON.stringify(result(id, { content: [], isError: 'no' })),
      detail: 'the answer has not the form of a tool result',
    },
    {
      name: 'structured content that is a list',
      body: (id) => JSON.stringify(result(id, { content: [], structuredContent: [1] })),
      detail: 'the answer has not the form of a tool result',
    },
    {
      name: 'an endless nesting',
      body: (id) =>
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
      detail: 'the answer holds what no JSON text can keep exactly',
    },
    {
      name: 'half a character',
      body: (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"\\ud83d"}]}}`,
      detail: 'the answer holds what no JSON text can keep exactly',
    },
  ])('leaves the outcome open: $name', async ({ body, detail }) => {
    const answer = await calling((id, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body(id));
    });
    expect(answer).toEqual({ kind: 'ambiguous', detail });
    sentOnce();
  });

  it('leaves the outcome open: a page', async () => {
    const answer = await calling((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
    });
    expect(answer).toEqual({
      kind: 'ambiguous',
      detail: 'HTTP 200 with content of type text/html instead of an answer',
    });
  });

  it('leaves the outcome open: bytes that are no UTF-8', async () => {
    const answer = await calling((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x22, 0xff, 0x22]));
    });
    expect(answer).toEqual({ kind: 'ambiguous', detail: 'the answer is not UTF-8 text' });
  });

  it('leaves the outcome open: a body that breaks off', async () => {
    const answer = await calling((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"jsonrpc":');
      setTimeout(() => response.destroy(), 20);
    });
    expect(answer).toEqual({
      kind: 'ambiguous',
      detail: 'the connection broke in the middle of the answer (aborted)',
    });
  });

  it('leaves the outcome open: a stream without end is cut at the limit', async () => {
    const answer = await calling((_, response) => {
      openStream(response).write('data: ');
      const flood = setInterval(() => response.write('x'.repeat(4_194_304)), 1);
      response.on('close', () => clearInterval(flood));
    });
    expect(answer).toEqual({ kind: 'ambiguous', detail: 'the answer is longer than 33558528 bytes' });
  });
});

describe('an answer in an unusual dress', () => {
  it.each<{ name: string; body: (id: number) => unknown }>([
    { name: 'its id as text', body: (id) => result(String(id)) },
    { name: 'unknown members beside the result', body: (id) => ({ ...result(id), _meta: { a: 1 } }) },
    { name: 'in a list', body: (id) => [{ jsonrpc: '2.0', method: 'notifications/message' }, result(id)] },
  ])('is taken: $name', async ({ body }) => {
    expect(await calling((id, response) => void sendJson(response, body(id)))).toEqual(ok);
  });

  it('keeps every member of the result', async () => {
    const whole = {
      content: [{ type: 'image', data: 'AA==', mimeType: 'image/png', annotations: { priority: 1 }, extra: null }],
      structuredContent: { n: 1.5, '': { deep: [true, null] } },
      _meta: { 'vendor.example/x': 'é' },
      future: [1],
    };
    const answer = await calling((id, response) => void sendJson(response, result(id, whole)));
    expect(answer.kind === 'result' && answer.result).toEqual(whole);
  });

  it('is put together from chunks that split a character', async () => {
    const text = 'é 😀 例え';
    const answer = await calling((id, response) => {
      const bytes = Buffer.from(eventOf(result(id, { content: [{ type: 'text', text }] })));
      openStream(response);
      void (async () => {
        for (const byte of bytes) {
          response.write(Buffer.from([byte]));
          await new Promise(setImmediate);
        }
        response.end();
      })();
    });
    expect(answer.kind === 'result' && answer.result).toEqual({ content: [{ type: 'text', text }] });
  });

  it('is found behind progress, comments and empty events, and in one chunk with them', async () => {
    const answer = await calling((id, response) => {
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } };
      openStream(response).end(
        `: keep-alive\r\n\r\nid: 1\r\ndata:\r\n\r\n${eventOf(progress)}data: ???\n\n${eventOf(result(id))}`,
      );
    });
    expect(answer).toEqual(ok);
  });

  it('is taken from a stream that the server then keeps open', async () => {
    const answer = await calling((id, response) => void openStream(response).write(eventOf(result(id))));
    expect(answer).toEqual(ok);
  });
});

describe('an error before the tool', () => {
  it.each([
    { status: 400, code: -32700, kind: 'notSent' },
    { status: 400, code: -32600, kind: 'notSent' },
    { status: 400, code: -32000, kind: 'ambiguous' },
    { status: 429, code: -32000, kind: 'ambiguous' },
    { status: 500, code: -32700, kind: 'ambiguous' },
  ])('HTTP $status with JSON-RPC error $code is $kind [EXEC-11]', async ({ status, code, kind }) => {
    const answer = await calling((_, response) => {
      const body = { jsonrpc: '2.0', id: null, error: { code, message: 'no' } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    expect(answer.kind).toBe(kind);
    sentOnce();
  });

  it('without an id, in a stream, is the answer to its one request', async () => {
    const answer = await calling((_, response) => {
      openStream(response).end(eventOf({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } }));
    });
    expect(answer).toEqual({ kind: 'notSent', detail: 'the server answered with error -32700: Parse error' });
  });

  it('shows what the server says without its invisible characters, and not without end', async () => {
    const answer = await calling((id, response) => {
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32603, message: `\u001b[2K${'x'.repeat(5_000)}` } });
    });
    expect(answer.kind === 'ambiguous' && answer.detail.slice(0, 60)).toBe(
      'the server answered with error -32603: ⟦U+001B⟧[2Kxxxxxxxxxx',
    );
    expect(answer.kind === 'ambiguous' && answer.detail.length).toBeLessThan(520);
  });
});

describe('a stream that ends early', () => {
  it('leaves the outcome open at once', async () => {
    const start = performance.now();
    const answer = await calling((_, response) => {
      openStream(response).write(': wait\n\n');
      setTimeout(() => response.destroy(), 20);
    });
    expect(answer.kind).toBe('ambiguous');
    expect(performance.now() - start).toBeLessThan(500);
    sentOnce();
  });

  it('is resumed by its event id, which asks for the answer and not for the call', async () => {
    let id = 0;
    upstream = await startRawMcpServer(({ verb, headers, message }, response) => {
      if (message?.method === 'tools/call') {
        id = message.id ?? 0;
        openStream(response).end('id: e1\nretry: 10\ndata:\n\n');
        return true;
      }
      if (verb !== 'GET') return false;
      openStream(response).end(headers['last-event-id'] === 'e1' ? eventOf(result(id), 'e2') : '');
      return true;
    });
    expect(await call()).toEqual(ok);
    sentOnce();
    expect(upstream.requests.filter(({ verb }) => verb === 'GET')).toHaveLength(1);
  });

  it('leaves the outcome open where it cannot be resumed', async () => {
    const answer = await calling((_, response) => void openStream(response).end('id: e1\nretry: 10\ndata:\n\n'));
    expect(answer).toEqual({ kind: 'ambiguous', detail: 'the server ended the stream without an answer' });
    sentOnce();
  });

  it('leaves the outcome open when the time for resuming is over', async () => {
    upstream = await startRawMcpServer(({ verb, message }, response) => {
      if (message?.method !== 'tools/call' && verb !== 'GET') return false;
      openStream(response).end('id: e1\nretry: 5\ndata:\n\n');
      return true;
    });
    expect(await call(200)).toEqual({ kind: 'ambiguous', detail: 'no answer within 200 ms' });
    sentOnce();
  });
});

describe('a server that asks back in the middle of a call', () => {
  it.each(['elicitation/create', 'sampling/createMessage', 'roots/list'])(
    'is refused %s, and the outcome is what the tool then reports [GATE-12]',
    async (method) => {
      let finish: (() => void) | undefined;
      upstream = await startRawMcpServer(({ message }, response) => {
        if (message?.method === 'tools/call') {
          const { id } = message;
          openStream(response).write(eventOf({ jsonrpc: '2.0', id: 'q1', method, params: {} }));
          finish = () => response.end(eventOf(result(id)));
        } else if (message?.error !== undefined) {
          response.writeHead(202).end();
          finish?.();
        } else {
          return false;
        }
        return true;
      });
      expect(await call()).toEqual(ok);
      const answers = upstream.requests.filter(({ message }) => message?.error !== undefined);
      expect(answers.map(({ message }) => message)).toEqual([
        { jsonrpc: '2.0', id: 'q1', error: { code: -32601, message: `This client does not serve ${method}` } },
      ]);
      const init = upstream.requests.find(({ message }) => message?.method === 'initialize');
      expect(init?.message?.params?.['capabilities']).toEqual({});
    },
  );

  it('is answered a ping', async () => {
    const answer = calling((id, response) => {
      openStream(response).write(eventOf({ jsonrpc: '2.0', id: 0, method: 'ping' }));
      setTimeout(() => response.end(eventOf(result(id))), 50);
    });
    expect(await answer).toEqual(ok);
    await eventually(() => {
      const pong = upstream.requests.find(({ message }) => message?.id === 0 && message.result !== undefined);
      expect(pong?.message?.result).toEqual({});
    });
  });
});

describe('a session', () => {
  it('is named in each later request, with the revision, and ended at the close', async () => {
    upstream = await startRawMcpServer();
    await call(5_000, { authorization: 'Bearer ${TOKEN}' });
    await servers.closeAll();
    expect(
      upstream.requests.map(({ verb, message, headers }) => [
        message?.method ?? verb,
        headers['mcp-session-id'],
        headers['mcp-protocol-version'],
        headers.authorization,
      ]),
    ).toEqual([
      ['initialize', undefined, undefined, 'Bearer t0k'],
      ['notifications/initialized', 's1', '2025-11-25', 'Bearer t0k'],
      ['tools/call', 's1', '2025-11-25', 'Bearer t0k'],
      ['DELETE', 's1', '2025-11-25', 'Bearer t0k'],
    ]);
  });

  it('needs its secrets: without one nothing is sent, and the message names it', async () => {
    upstream = await startRawMcpServer();
    expect(await call(5_000, { authorization: 'Bearer ${OTHER}' })).toEqual({
      kind: 'notSent',
      detail: '${OTHER} is not set; set it where the worker runs and start it again',
    });
    expect(upstream.requests).toEqual([]);
  });

  it('takes no secret that breaks a header, and does not print it', async () => {
    upstream = await startRawMcpServer();
    servers = createToolServers({ resolveSecret: () => 'a\nb', log: { warn: () => undefined } });
    expect(await call(5_000, { 'x-key': '${KEY}' })).toEqual({
      kind: 'notSent',
      detail: 'the header x-key holds what no HTTP header may hold',
    });
  });

  it('that a server answers with 400 instead of 404 is opened again for a list', async () => {
    let forgotten = false;
    const answer: RawAnswer = ({ message }, response) => {
      if (message?.method === 'initialize') forgotten = false;
      if (!forgotten || message?.method !== 'tools/list') return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}');
      return true;
    };
    await listing(answer);
    forgotten = true;
    expect((await servers.get(httpServerEntry(upstream.url)).listTools()).ok).toBe(true);
  });

  it('is given up where it is forgotten twice', async () => {
    const answer = await calling((_, response) => void response.writeHead(404).end());
    expect(answer).toEqual({ kind: 'notSent', detail: 'the server answered HTTP 404' });
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('is not opened with a server of an unknown revision', async () => {
    upstream = await startRawMcpServer(({ message }, response) => {
      if (message?.method !== 'initialize') return false;
      return sendJson(response, result(message.id, { protocolVersion: '2031-01-01' }));
    });
    expect(await call()).toEqual({
      kind: 'notSent',
      detail:
        'it speaks no revision of MCP that is known here (2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07)',
    });
  });

  it('is opened once for calls that begin together, also after a failure', async () => {
    let fail = true;
    upstream = await startRawMcpServer(async ({ message }, response) => {
      if (message?.method !== 'initialize') return false;
      await delay(20);
      if (fail) response.writeHead(503).end();
      return fail;
    });
    const kinds = (answers: readonly ToolAnswer[]) => answers.map(({ kind }) => kind);
    expect(kinds(await Promise.all([call(), call()]))).toEqual(['notSent', 'notSent']);
    fail = false;
    expect(kinds(await Promise.all([call(), call(), call()]))).toEqual(['result', 'result', 'result']);
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });
});

describe('tools/list', () => {
  const tool = (name: string, more = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
  const pages = (byCursor: Readonly<Record<string, unknown>>): RawAnswer => {
    return ({ message }, response) => {
      if (message?.method !== 'tools/list') return false;
      const cursor = message.params?.['cursor'];
      return sendJson(response, result(message.id, byCursor[typeof cursor === 'string' ? cursor : 'first']));
    };
  };
  const names = (listed: ToolListing) => (listed.ok ? [...listed.tools.keys()] : listed.detail);

  it('is read to its last page, both times [LIST-1]', async () => {
    const answer = pages({ first: { tools: [tool('a')], nextCursor: 'p2' }, p2: { tools: [tool('b')] } });
    expect(names(await listing(answer))).toEqual(['a', 'b']);
    expect(names(await servers.get(httpServerEntry(upstream.url)).listTools())).toEqual(['a', 'b']);
  });

  it('that never ends is refused', async () => {
    const page = { tools: [tool('a')], nextCursor: 'first' };
    expect(names(await listing(pages({ first: page })))).toBe('its list of tools never ends');
  });

  it('of ever further empty pages is refused after 1,000', async () => {
    let page = 0;
    const endless: RawAnswer = ({ message }, response) => {
      if (message?.method !== 'tools/list') return false;
      page += 1;
      return sendJson(response, result(message.id, { tools: [], nextCursor: `p${page}` }));
    };
    expect(names(await listing(endless))).toBe('its list of tools never ends');
    expect(page).toBe(1_000);
  });

  it('that takes longer than 30 s as a whole is refused', async () => {
    const startMs = Date.now();
    const clock = jest.spyOn(Date, 'now');
    let page = 0;
    const slow: RawAnswer = ({ message }, response) => {
      if (message?.method !== 'tools/list') return false;
      page += 1;
      clock.mockReturnValue(startMs + page * 16_000);
      return sendJson(response, result(message.id, { tools: [], nextCursor: `p${page}` }));
    };
    const detail = names(await listing(slow).finally(() => clock.mockRestore()));
    expect(detail).toBe('its list of tools took longer than 30000 ms');
    expect(page).toBe(2);
  });

  it('with two different tools of one name is refused', async () => {
    const page = { tools: [tool('a'), tool('a', { description: 'another' })] };
    expect(names(await listing(pages({ first: page })))).toBe('it lists two different tools named a');
  });

  it('is not spoilt by entries that cannot be used [LIST-7]', async () => {
    const unusable = [null, 'a', {}, { name: 'b' }, { name: 'c', inputSchema: 'object' }];
    const outputSchema = { type: 'objekt' };
    expect(names(await listing(pages({ first: { tools: [...unusable, tool('d', { outputSchema })] } })))).toEqual([
      'd',
    ]);
    expect(warnings).toEqual(['toolServer.unusableTools']);
  });

  it('keeps what a server says beyond the standard, and invents nothing [LIST-5]', async () => {
    const raw = tool('a', { 'vendor.example/x': [1], annotations: { title: 'A', destructiveHint: 'yes' }, _meta: {} });
    const listed = await listing(pages({ first: { tools: [raw, tool('b')] } }));
    if (!listed.ok) throw new Error(listed.detail);
    expect(listed.tools.get('a')).toEqual({
      name: 'a',
      raw,
      title: 'A',
      hints: { readOnly: null, destructive: null },
      inputSchema: { type: 'object' },
    });
    expect(listed.tools.get('b')?.raw).toEqual({ name: 'b', inputSchema: { type: 'object' } });
  });

  it.each([{ first: {} }, { first: { tools: 'none' } }])('of another form is refused', async (given) => {
    expect(names(await listing(pages(given)))).toBe('its list of tools has not the form of one');
  });

  it('says what the server says', async () => {
    const answer: RawAnswer = ({ message }, response) =>
      message?.method === 'tools/list' &&
      sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32603, message: 'no database' } });
    expect(names(await listing(answer))).toBe('it answered tools/list with error -32603: no database');
  });

  it('is asked once more where the connection was cut', async () => {
    let cuts = 1;
    const answer: RawAnswer = ({ message }, response) => {
      if (message?.method !== 'tools/list' || cuts === 0) return false;
      cuts -= 1;
      response.destroy();
      return true;
    };
    expect(names(await listing(answer))).toEqual(['act']);
  });
});
