/** A tool as a client would list it; its calls ask. */
const TOOL =
  '{"name":"act","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"rows":{"type":"integer"}}}}';

const tools = (items: string, more = ''): string => `{"tools":[${items}]${more}}`;
const deep = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);
const withSchema = (schema: string): string =>
  tools(`{"name":"act","inputSchema":{"type":"object"},"outputSchema":${schema}}`);
const withInput = (schema: string): string => tools(`{"name":"act","inputSchema":${schema}}`);
const many = (count: number): string =>
  Array.from({ length: count }, (_, at) => TOOL.replace('act', `act${at}`)).join();

/** Texts of results of `tools/list` that an upstream might send by fault or on purpose, by what they are. */
export const HOSTILE_LISTS: Readonly<Record<string, string>> = {
  'no object': '7',
  null: 'null',
  'an array': '[]',
  'no tools': '{}',
  'tools that are an object': '{"tools":{"0":{"name":"act"}}}',
  'tools that are a number': '{"tools":1}',
  'entries of every wrong type': tools(`null,1,"act",[],[[]],{},{"name":5},{"name":null},true,${TOOL}`),
  'a cursor of a wrong type': tools(TOOL, ',"nextCursor":{"a":[]}'),
  'the same cursor for ever': tools(TOOL, ',"nextCursor":"same"'),
  'a cursor and no tools for ever': '{"tools":[],"nextCursor":"again"}',
  'tools twice': `{"tools":[],"tools":[${TOOL}]}`,
  'the same tool twice': tools(`${TOOL},${TOOL.replace('"type":"object"}', '"type":"object","x":1}')}`),
  'a member twice': tools(TOOL.replace('"name":"act"', '"name":"read","name":"act"')),
  'other prototypes': tools(TOOL.replace('{"name"', '{"__proto__":{"name":"x"},"constructor":1,"name"')),
  'half a character': tools(TOOL.replace('"act"', '"act","title":"\\ud800"')),
  'numbers that no double keeps': tools(TOOL.replace('"act"', '"act","x":1e999,"y":9007199254740993')),
  '12,000 tools': tools(many(12_000)),
  'a name of 1 MiB': tools(`${TOOL},${TOOL.replace('act', 'x'.repeat(1_048_576))}`),
  'an output schema 500 deep': withSchema(`${'{"not":'.repeat(500)}{}${'}'.repeat(500)}`),
  'an output schema 100,000 deep': withSchema(`${'{"not":'.repeat(100_000)}{}${'}'.repeat(100_000)}`),
  'an input schema 100,000 deep': withInput(`${'{"not":'.repeat(100_000)}{}${'}'.repeat(100_000)}`),
  'brackets 100,000 deep': withSchema(deep('[', ']', 100_000)),
  'a schema that means itself': withSchema('{"$ref":"#"}'),
  'schemas that mean one another': withInput(
    '{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}',
  ),
  'a pattern without end': withInput('{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}'),
  '10,000 alternatives': withSchema(
    `{"anyOf":[${Array<string>(10_000).fill('{"type":"object","$ref":"#/x"}').join()}]}`,
  ),
  'schemas of every wrong type': tools(
    ['null', '1', '"x"', '[]', 'true', '{"type":"objekt"}', '{"$id":"x","$schema":7}']
      .map((schema) => `{"name":"act","inputSchema":${schema},"outputSchema":${schema}}`)
      .join(),
  ),
};

/** A result of `tools/list` to be mutated. */
export const LIST_SEEDS: readonly string[] = [
  tools(TOOL),
  tools(
    `${TOOL},{"name":"read","title":"R","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"annotations":{"readOnlyHint":true}}`,
    ',"nextCursor":"2"',
  ),
  withSchema(
    '{"type":"object","$defs":{"r":{"type":"integer"}},"properties":{"rows":{"$ref":"#/$defs/r"}},"required":["rows"]}',
  ),
];
