'use strict';

// A server on stdio that writes its messages as raw text, odd but legal: numbers that JavaScript cannot hold, vendor
// members, blanks. Tools do as they are named. Each line that it reads is kept in the file that LINES names.
const { appendFileSync } = require('node:fs');
const { createInterface } = require('node:readline');

const write = (line) => process.stdout.write(`${line}\n`);
const text = (value) => `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;
/** The id as it was written, where it stands at its usual place. */
const idOf = (line) => /^\{"jsonrpc":"2.0","id":("[^"]*"|[^,]*)/.exec(line)?.[1] ?? JSON.stringify(JSON.parse(line).id);
const answer = (id, result) => write(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);

const PAGES = {
  1: `{"tools":[{"name":"echo","title":"Echo","description":"é \\ud83d\\ude00","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"vendor.example/weight":9007199254740993},"vendor.example/x":{"a":1e400,"b":0.10}}],"nextCursor":"page 2"}`,
  2: `{"tools":[{"name":"bare","inputSchema":{"type":"object"}},{"name":"structured","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"]}}]}`,
};

const asked = new Map();
const hung = new Map();

const TOOLS = {
  echo: (id, message, line) => answer(id, text(line)),
  bare: (id) => answer(id, text(`pid ${process.pid}`)),
  odd: (id) =>
    write(
      `{ "vendor" : 1.50 , "jsonrpc":"2.0", "id": ${id},\t"result":{"content":[],"n":9007199254740993,"big":1e400,"_meta":{"vendor.example/x":[ 0.10 ]}} }\r`,
    ),
  fail: (id) => write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32050,"message":"disk full","data":{"vendor":1}}}`),
  structured: (id) => answer(id, `{"content":[],"structuredContent":{"rows":2}}`),
  approved: (id) =>
    answer(id, `{"content":[],"_meta":{"vendor.example/x":1e400,"dev.holdpoint/approval":{"status":"approved"}}}`),
  unstructured: (id) => answer(id, `{"content":[{"type":"text","text":"no such table"}],"isError":true}`),
  die: () => {
    process.stderr.write('the disk is full\u0007\n');
    process.exit(3);
  },
  hang: (id, message) => hung.set(message.id, id),
  release: (id) => {
    for (const held of hung.values()) answer(held, text('released'));
    hung.clear();
    answer(id, text('done'));
  },
  split: (id) => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${text('é😀é')}}\n`);
    const middle = bytes.indexOf(Buffer.from('😀')) + 2;
    process.stdout.write(bytes.subarray(0, middle));
    setTimeout(() => process.stdout.write(bytes.subarray(middle)), 30);
  },
  progress: (id, message) => {
    const token = JSON.stringify(message.params._meta.progressToken);
    for (const n of [1, 2]) {
      write(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${n}.0,"total":2}}`,
      );
    }
    answer(id, text('done'));
  },
  log: (id) => {
    write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}`);
    answer(id, text('logged'));
  },
  changed: (id) => {
    answer(id, text('soon'));
    write('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  },
  slow: (id) => setTimeout(() => answer(id, text('done')), 300),
  noise: (id) => {
    write('working on it…');
    write('{"level":30,"msg":"a log line"}');
    answer(id, text('done'));
  },
  twice: (id) => {
    answer(id, text('first'));
    answer(id, text('second'));
  },
  ask: (id, { params }) => {
    const { method, askId } = params.arguments;
    asked.set(askId, id);
    write(`{"jsonrpc":"2.0","id":${JSON.stringify(askId)},"method":"${method}","params":{"odd":1e400}}`);
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  if (process.env.LINES) appendFileSync(process.env.LINES, `${line}\n`);
  const message = JSON.parse(line);
  const { method, params, id } = message;
  if (method === undefined) return answer(asked.get(id), text(line));
  if (method === 'initialize') {
    if (process.env.MUTE) return undefined;
    const version = JSON.stringify(params.protocolVersion);
    return answer(
      idOf(line),
      `{"protocolVersion":${version},"capabilities":{"tools":{"listChanged":true},"vendor.example/x":1e400},"serverInfo":{"name":"odd","version":"1"}}`,
    );
  }
  if (method === 'tools/list') return answer(idOf(line), PAGES[params?.cursor === undefined ? 1 : 2]);
  if (method === 'tools/call') return TOOLS[params.name](idOf(line), message, line);
  if (method === 'ping') return answer(idOf(line), '{}');
  if (id === undefined) return undefined;
  return write(`{"jsonrpc":"2.0","id":${idOf(line)},"error":{"code":-32601,"message":"Method not found"}}`);
});
