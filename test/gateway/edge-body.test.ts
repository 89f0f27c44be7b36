import { connect } from 'node:net';
import { eventually } from '../support/eventually';
import { send, sendRaw, serveBodies, type BodyServer } from './edge-stage';

let server: BodyServer;
beforeAll(async () => {
  server = await serveBodies();
});
afterAll(() => server.close());

const LIMIT = 4 * 1_024 * 1_024;
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const head = (...lines: readonly string[]): string =>
  ['POST / HTTP/1.1', 'Host: a', 'Connection: close', ...lines, '', ''].join('\r\n');
const TYPE = 'Content-Type: application/json';

describe('the body of a message', () => {
  it.each([1, 2, 3])('may split a character over two chunks, after %s of its bytes [WIRE-5]', async (split) => {
    const bytes = Buffer.from(`"${'é'.repeat(2_047)}🙂"`);
    const at = bytes.length - 1 - 4 + split;
    const answer = await sendRaw(
      server,
      head(TYPE, 'Transfer-Encoding: chunked'),
      chunk(bytes.subarray(0, at)),
      chunk(bytes.subarray(at)),
      '0\r\n\r\n',
    );
    expect(answer).toContain('HTTP/1.1 200 OK');
    expect(answer).toContain('é🙂"');
    expect(answer).not.toContain('\ufffd');
  });

  it('stays what it is to the byte, with its byte order mark and spaces', async () => {
    const text = '\ufeff { "a" : 1 }\r\n';
    expect(Buffer.from((await send(server, { body: text })).text)).toEqual(Buffer.from(text));
  });

  it.each([
    ['a byte that begins nothing', [0xff]],
    ['half a character at its end', [0x22, 0xc3]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a longer spelling of a slash', [0xc0, 0xaf]],
  ])('with %s is no UTF-8: 400', async (_name, bytes) => {
    const { status, json } = await send(server, { body: Buffer.from(bytes) });
    expect(status).toBe(400);
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'A message is UTF-8 text, and this is not' },
    });
  });

  it('has at most 4 MiB: one byte more is 413', async () => {
    expect((await send(server, { body: 'a'.repeat(LIMIT) })).text).toHaveLength(LIMIT);
    const { status, headers, json } = await send(server, { body: 'a'.repeat(LIMIT + 1) });
    expect(status).toBe(413);
    expect(headers.connection).toBe('close');
    expect(json.error).toEqual({ code: -32600, message: 'A message has at most 4194304 bytes' });
  });

  it('that does not say how long it is, is read to the limit and no further', async () => {
    const pieces = Array.from({ length: 5 }, () => chunk(Buffer.alloc(1_048_576, 'a')));
    const answer = await sendRaw(server, head(TYPE, 'Transfer-Encoding: chunked'), ...pieces);
    expect(answer).toContain('HTTP/1.1 413 Payload Too Large');
    expect(answer).toContain('A message has at most 4194304 bytes');
  });

  it.each([
    [undefined],
    ['text/plain'],
    ['application/json-rpc'],
    ['application/jsonx'],
    ['application/json; charset=utf-16'],
    ['application/json, text/plain'],
    ['multipart/form-data'],
    [['application/json', 'application/json']],
  ])('of the type %j is 415', async (type) => {
    const typed = type === undefined ? {} : { 'content-type': type };
    const lines = Object.entries(typed).flatMap(([, value]) => [value].flat().map((one) => `Content-Type: ${one}`));
    const answer = await sendRaw(server, head(...lines, 'Content-Length: 2'), '{}');
    expect(answer).toContain('HTTP/1.1 415 Unsupported Media Type');
    expect(answer).toContain('A message is sent as Content-Type: application/json, in UTF-8');
  });

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('may be of the type %s', async (type) => {
    expect((await send(server, { body: '{}', headers: { 'content-type': type } })).text).toBe('{}');
  });

  it('that is packed is 415', async () => {
    const { status } = await send(server, { body: '{}', headers: { 'content-encoding': 'gzip' } });
    expect(status).toBe(415);
  });

  it('that breaks off is no message, and harms nobody else', async () => {
    const before = server.refused.length;
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined).write(`${head(TYPE, 'Content-Length: 100')}{}`, () => socket.destroy());
    await eventually(() => expect(server.refused.slice(before)).toEqual([400]));
    expect((await send(server, { body: '{}' })).text).toBe('{}');
  });

  it('that is too long gets its answer while the client still writes, and is not waited for', async () => {
    const answer = await sendRaw(server, head(TYPE, `Content-Length: ${2 * LIMIT}`), Buffer.alloc(LIMIT, 'a'));
    expect(answer).toContain('HTTP/1.1 413 Payload Too Large');
    expect(answer).toContain('A message has at most 4194304 bytes');
  });
});
