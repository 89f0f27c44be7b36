import { ODD_SERVER, openStage } from '../support/gateway-stdio-stage';
import type { Stage } from '../support/gateway-stdio-stage';
import { RawClient, startDirect, whole } from '../support/gateway-stdio-client';
import type { Direct } from '../support/gateway-stdio-client';

let stage: Stage;
let client: RawClient;
let direct: Direct;
beforeAll(async () => {
  stage = await openStage();
  client = await stage.client();
  direct = startDirect([ODD_SERVER]);
});
afterAll(async () => {
  direct.close();
  await stage.close();
});

const call = (name: string, id = '7', rest = '') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{}${rest}}}`;

describe('what a server on stdio answers reaches the client to the byte', () => {
  const list = (cursor = '') => `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{${cursor}}}`;
  const initialize =
    '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}';

  it('but what it says under the key of Holdpoint, which is no word of ours', async () => {
    const [answer] = await whole(client.post(call('approved')));
    expect(answer).toBe('{"jsonrpc":"2.0","id":7,"result":{"content":[],"_meta":{"vendor.example/x":1e400}}}');
  });

  it.each([
    ['annotations, title and vendor members, and none where there were none [LIST-5]', list()],
    ['the second page of a list, by the cursor of the first [LIST-1]', list('"cursor":"page 2"')],
    ['structuredContent of a tool with an output schema [LIST-3]', call('structured')],
    ['isError without structuredContent from such a tool [LIST-4]', call('unstructured')],
    ['numbers that JavaScript cannot hold, blanks and the order of members', call('odd')],
    ['_meta of a result [LIST-6]', call('odd')],
    ['code, message and data of an error [WIRE-6]', call('fail')],
    ['an emoji that is split over two chunks [WIRE-5]', call('split')],
    ['progress before the answer [WIRE-1]', call('progress', '7', ',"_meta":{"progressToken":"é"}')],
    ['a notice before the answer', call('log')],
  ])('%s', async (_, message) => {
    const lines = await direct.ask(7, message);
    expect(lines.length).toBeGreaterThan(0);
    expect(await whole(client.post(message))).toEqual(lines);
  });

  it('the answer to initialize', async () => {
    const opener = new RawClient(stage.url);
    const answer = await opener.post(initialize);
    await answer.ended;
    expect(answer.status).toBe(200);
    expect(answer.messages).toEqual(await direct.ask(7, initialize));
    expect(answer.messages[0]).toContain('"vendor.example/x":1e400');
    expect(answer.headers['mcp-session-id']).toMatch(/^[\w-]{43}$/);
  });
});

describe('what a client sends reaches a server on stdio to the byte', () => {
  const sent = (text: string) => expect(stage.linesRead()).toContain(text);

  it('with its blanks, the order of its members, vendor members and _meta [LIST-6]', async () => {
    const text =
      '{ "vendor":[ 1.50 , 1e2],"params":{"arguments":{"b":0.10,"a":"\\u00e9"},"_meta":{"traceparent":"00-1-2-01"},"name":"bare"} ,"method":"tools/call","id":"8","jsonrpc":"2.0"}';
    const answered = await whole(client.post(text));
    expect(answered).toHaveLength(1);
    sent(text);
  });

  it('on one line, where it came on several', async () => {
    await whole(client.post('{"jsonrpc":"2.0",\r\n"id":9,\n"method":"ping"}'));
    sent('{"jsonrpc":"2.0",  "id":9, "method":"ping"}');
  });

  it('a notification, which is accepted with 202', async () => {
    const text = '{"jsonrpc":"2.0","method":"notifications/vendor","params":{"x":0.10}}';
    const answer = await client.post(text);
    expect(answer.status).toBe(202);
    await whole(client.call('10', 'bare'));
    sent(text);
  });

  it.each(['0', '""', '"1"', '1', '-1', '"a\\u0062"'])('its id %s comes back as it is', async (id) => {
    const [answer] = await whole(client.call(id, 'bare'));
    expect(answer).toMatch(/^\{"jsonrpc":"2.0","id":(.*),"result"/);
    expect(/"id":(.*?),"result"/.exec(answer ?? '')?.[1]).toBe(id);
  });
});

describe('what is refused before a server on stdio sees it', () => {
  it.each([
    ['a batch [BYPASS-2]', `[${call('echo')}]`, 400, -32600],
    [
      'a name that occurs twice [BYPASS-4]',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}',
      400,
      -32600,
    ],
    ['what is not JSON', '{"jsonrpc":', 400, -32700],
    ['what is not UTF-8', Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1'), 400, -32700],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32700],
    ['a call of a tool without an id', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}', 400, -32600],
    ['more than 4 MiB', `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(4_194_304)}"}`, 413, -32600],
  ])('%s', async (_, body, status, code) => {
    const before = stage.linesRead().length;
    const answer = await client.post(body);
    await answer.ended;
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.messages[0] ?? '')).toMatchObject({ id: null, error: { code } });
    await whole(client.post('{"jsonrpc":"2.0","id":"last","method":"ping"}'));
    expect(stage.linesRead()).toHaveLength(before + 1);
  });
});
