import { seededRandom } from './gateway-kill-random';

/** Real messages of MCP clients, of every kind and form that a gateway reads. */
export const MESSAGE_SEEDS: readonly string[] = [
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"claude-ai","title":"Claude","version":"0.1.0"}}}',
  '{"method":"notifications/initialized","jsonrpc":"2.0"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"eyJwYWdlIjoyfQ=="}}',
  '{"method":"tools/call","params":{"name":"delete_rows","arguments":{"id":7,"soft":true}},"jsonrpc":"2.0","id":2}',
  '{"jsonrpc":"2.0","id":"a\\u0062-3","method":"tools/call","params":{"_meta":{"progressToken":1,"dev.holdpoint/operation":"k1"},"name":"apply_migration","arguments":{"environment":"production","sql":"ADD COLUMN note -- \\"\\u00e9\\\\ \\ud83d\\ude00\\n","n":[1,-0.5,1e3,9007199254740991,null,{"a":[]}]}}}',
  '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"send_mail","arguments":{"to":"ops@example.org","body":"caf\u00e9 \u4f60\u597d \ud83d\ude80"},"task":{"ttl":60000}}}',
  '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_rows","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"user"}}',
  '{"jsonrpc":"2.0","id":"r","result":{"roots":[{"uri":"file:///home/u","name":"home"}]}}',
  '{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"Method not found"}}',
  ' {\r\n\t"jsonrpc" : "2.0" , "id" : 7 , "method" : "resources/read" , "params" : { "uri" : "file:///a%20b" } } ',
  '[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"delete_rows","arguments":{"id":1}}}]',
  '{"jsonrpc":"2.0","id":10,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"n","value":""},"constructor":2}}',
];

/** Pieces that readers of JSON are known to differ over. */
const PIECES: readonly string[] = [
  ...[
    '"',
    '\\',
    '\\"',
    '\\u0000',
    '\\u005c',
    '\\ud800',
    '\\udc00\\ud800',
    '\\/',
    '\\x41',
    "'",
    '\u0000',
    '\u007f',
    '\u2028',
  ],
  ...['\ufeff', '\u00a0', '\u000b', '\f', '\r', '\n', '/**/', '//', '#', '<!--', '\ud800', '\udfff', '\u200b'],
  ...[
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    ',,',
    '{}',
    '[]',
    '[[[[[[[[',
    '}}',
    '"":',
    '"a":1,',
    'null',
    'true',
    'True',
    'NaN',
    'undefined',
  ],
  ...[
    '0',
    '-',
    '-0',
    '00',
    '01',
    '.5',
    '1.',
    '1e400',
    '-1e999',
    '1E+2',
    '0x10',
    '1_000',
    '9007199254740993',
    '1e-400',
    'Infinity',
  ],
  ...[
    '"name":"read_rows",',
    '"name":"delete_rows",',
    '"n\\u0061me":"delete_rows",',
    '"method":"ping",',
    '"method":"tools/call",',
  ],
  ...[
    '"id":2,',
    '"id":null,',
    '"id":1.5,',
    '"id":1e0,',
    '"id":"",',
    '"params":{},',
    '"params":[],',
    '"arguments":{},',
    '"jsonrpc":"2.0",',
  ],
  ...[
    '"jsonrpc":"1.0",',
    '"__proto__":{"name":"x"},',
    '"_meta":{},',
    'tools/call',
    'tools\\/call',
    'Tools/Call',
    'tools/call\\u0000',
  ],
];

/** An endless source of mutated texts: the same for the same seed. */
export function mutations(seeds: readonly string[], seed: number): () => string {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(from: readonly T[], instead: T): T => from[below(from.length)] ?? instead;
  const spanIn = (text: string): readonly [number, number] => {
    const start = below(text.length + 1);
    return [start, Math.min(text.length, start + 1 + below(random() < 0.8 ? 4 : 40))];
  };
  const mutate = (text: string): string => {
    const [start, end] = spanIn(text);
    switch (below(8)) {
      case 0:
        return text.slice(0, start) + text.slice(end);
      case 1:
        return text.slice(0, start) + pick(PIECES, '') + text.slice(start);
      case 2:
        return text.slice(0, start) + pick(PIECES, '') + text.slice(end);
      case 3:
        return text.slice(0, end) + text.slice(start);
      case 4:
        return text.slice(0, start) + String.fromCharCode(below(random() < 0.9 ? 128 : 65_536)) + text.slice(end);
      case 5: {
        const other = pick(seeds, '');
        const [from, to] = spanIn(other);
        return text.slice(0, start) + other.slice(from, to) + text.slice(start);
      }
      case 6:
        return withMemberAgain(text, below);
      default:
        return text.slice(0, start);
    }
  };
  return () => {
    let text = pick(seeds, '');
    for (let times = 1 + below(random() < 0.7 ? 2 : 6); times > 0; times -= 1) text = mutate(text);
    return text;
  };
}

const MEMBER = /"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+]+|true|null|\{\}|\[\])/g;

/** Puts a member of the text in again somewhere behind another one: mutations that stay JSON. */
function withMemberAgain(text: string, below: (limit: number) => number): string {
  const members = [...text.matchAll(MEMBER)];
  const [what, where] = [members[below(members.length)], members[below(members.length)]];
  if (what === undefined || where === undefined) return text;
  const at = where.index + where[0].length;
  return `${text.slice(0, at)},${what[0]}${text.slice(at)}`;
}
