'use strict';

// A server on stdio that is what its first argument says, in JSON: its lists by pages, what it declares, and how it
// begins. Tools do as they are named; one of another name answers with the line that it got. Each line that it reads is
// kept in the file that LINES names.
const { appendFileSync, existsSync } = require('node:fs');
const { createInterface } = require('node:readline');

const setting = JSON.parse(process.argv[2] ?? '{}');
const { label = 'one', capabilities = {}, instructions, version, startIf, silent = [], broken = [] } = setting;
const lists = { tools: [[]], prompts: [[]], resources: [[]], resourceTemplates: [[]], ...setting.lists };
const KEYS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' };
const MEMBERS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

const write = (line) => process.stdout.write(`${line}\n`);
const text = (value) => `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;
const idOf = (line) => /"id":("[^"]*"|[^,}]*)/.exec(line)?.[1] ?? 'null';
const answer = (id, result) => write(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
const fail = (id, code, message) => write(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`);
const notify = (method, params = '{}') => write(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`);
const asked = new Map();

const item = (member, key) => {
  if (typeof key !== 'string') return JSON.stringify(key);
  const more = member === 'tools' ? ',"inputSchema":{"type":"object"}' : member.startsWith('res') ? ',"name":"r"' : '';
  return `{"${KEYS[member]}":${JSON.stringify(key)}${more},"vendor.example/n":9007199254740993}`;
};

const page = (member, params) => {
  const at = Number(params?.cursor?.slice(label.length) ?? 0);
  const items = lists[member][at].map((key) => item(member, key)).join(',');
  const next = at + 1 < lists[member].length ? `,"nextCursor":"${label}${at + 1}"` : '';
  return `{"${member}":[${items}]${next}}`;
};

const CALLS = {
  pid: (id) => answer(id, text(String(process.pid))),
  die: () => process.exit(3),
  hang: () => undefined,
  asText: (id) => answer(JSON.stringify(id), text('as text')),
  slow: (id) => setTimeout(() => answer(id, text(`${label}: done`)), 400),
  odd: (id) => write(`{ "jsonrpc":"2.0","id":${id}, "result":{"content":[],"n":9007199254740993,"big":1e400} }`),
  ask: (id, { params }) => {
    const { askId, method, token } = params.arguments;
    asked.set(askId, id);
    const meta = token === undefined ? '' : `"_meta":{"progressToken":${JSON.stringify(token)}},`;
    write(`{"jsonrpc":"2.0","id":${JSON.stringify(askId)},"method":"${method}","params":{${meta}"odd":1e400}}`);
  },
  tell: (id, { params }) => {
    notify(params.arguments.method, JSON.stringify(params.arguments.params));
    answer(id, text('told'));
  },
  withdraw: (id, { params }) => {
    notify('notifications/cancelled', JSON.stringify({ requestId: params.arguments.askId }));
    answer(id, text('withdrawn'));
  },
  progress: (id, { params }) => {
    const token = params.arguments.token ?? params._meta.progressToken;
    notify('notifications/progress', `{"progressToken":${JSON.stringify(token)},"progress":1.0}`);
    answer(id, text(label));
  },
  change: (id, { params }) => {
    Object.assign(lists, params.arguments);
    for (const member of Object.keys(params.arguments)) notify(`notifications/${member}/list_changed`);
    answer(id, text('changed'));
  },
};

const REQUESTS = {
  initialize: (id, { params }) => {
    const result = {
      protocolVersion: version ?? params.protocolVersion,
      capabilities: { tools: {}, ...capabilities },
      serverInfo: { name: label, version: '1' },
      ...(instructions !== undefined && { instructions }),
    };
    answer(id, JSON.stringify(result));
  },
  ping: (id) => answer(id, '{}'),
  'tools/call': (id, message, line) => {
    const call = CALLS[message.params.name];
    if (call === undefined) answer(id, text(`${label}: ${line}`));
    else call(id, message);
  },
  'prompts/get': (id, message, line) => answer(id, JSON.stringify({ messages: [], description: `${label}: ${line}` })),
  'completion/complete': (id) => answer(id, `{"completion":{"values":["${label}"]}}`),
  'resources/read': (id, { params: { uri } }) => {
    const own = lists.resources.flat().includes(uri) || uri.startsWith(setting.hidden ?? '\0');
    if (own) answer(id, JSON.stringify({ contents: [{ uri, text: label }] }));
    else fail(id, -32002, `${label} has no ${uri}`);
  },
  'resources/subscribe': (id) => answer(id, '{}'),
  'resources/unsubscribe': (id) => answer(id, '{}'),
  'logging/setLevel': (id) => answer(id, '{}'),
};

if (startIf !== undefined && !existsSync(startIf)) process.exit(4);
createInterface({ input: process.stdin }).on('line', (line) => {
  if (process.env.LINES) appendFileSync(process.env.LINES, `${line}\n`);
  const message = JSON.parse(line);
  const { method, params, id } = message;
  if (method === undefined) return answer(asked.get(id), text(line));
  if (id === undefined || silent.includes(method)) return undefined;
  if (broken.includes(method)) return fail(idOf(line), -32603, 'out of order');
  const member = MEMBERS[method];
  if (member !== undefined) return answer(idOf(line), page(member, params));
  const request = REQUESTS[method];
  if (request === undefined) return fail(idOf(line), -32601, 'Method not found');
  return request(idOf(line), message, line);
});
