import fc from 'fast-check';
import { edited, itemsOf, membersOf, rootOf, withoutParts } from '../../gateway/wire/json-spans';
import type { Span } from '../../gateway/wire/json-spans';
import { showList } from '../../gateway/lists/show-list';
import type { ToolShowing } from '../../gateway/lists/show-list';
import { almostJson, anyJson } from '../support/json-text';

const SAME: ToolShowing = { gated: false, hidden: [] };
const GATED: ToolShowing = { gated: true, hidden: [] };
const FORM =
  /\{"type":"object","description":"Not an answer[^\n]*?"required":\["holdpoint"\],"additionalProperties":false\}/;

/** A JSON text of a value with blanks wherever JSON takes them, and names and texts partly escaped. */
const spaced = (value: unknown, blanks: readonly string[]): string => {
  let count = 0;
  const blank = (): string => blanks[(count += 1) % blanks.length] ?? '';
  const text = (string: string): string =>
    count % 3 === 0 ? JSON.stringify(string).replace(/a/g, '\\u0061') : JSON.stringify(string);
  const write = (item: unknown): string => {
    if (Array.isArray(item)) return `[${blank()}${item.map((each) => write(each) + blank()).join(`,${blank()}`)}]`;
    if (typeof item === 'string') return text(item);
    if (typeof item !== 'object' || item === null) return JSON.stringify(item);
    const members = Object.entries(item).map(([name, each]) => `${text(name)}${blank()}:${blank()}${write(each)}`);
    return `{${blank()}${members.join(`${blank()},${blank()}`)}${blank()}}`;
  };
  return blank() + write(value) + blank();
};
const blanks = fc.array(fc.constantFrom('', ' ', '\n', '\t ', '\r\n'), { minLength: 1, maxLength: 5 });

/** An answer to tools/list. */
const answer = (tools: string): string => `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]}}`;
const names = (text: string): unknown =>
  (JSON.parse(text) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);

describe('places in a JSON text', () => {
  it('are those of the members and items that JSON.parse finds', () => {
    fc.assert(
      fc.property(anyJson, blanks, (value, between) => {
        const text = spaced(value, between);
        const root = rootOf(text);
        const at = ({ start, end }: Span): unknown => JSON.parse(text.slice(start, end));
        const whole = JSON.parse(text) as object | null;
        const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole);
        expect(text.slice(root.start, root.end)).toBe(text.trim());
        expect(itemsOf(text, root).map(at)).toEqual(Array.isArray(whole) ? whole : []);
        const members = membersOf(text, root).map((member) => [member.name, at(member.value)]);
        expect(members).toEqual(isObject ? Object.entries(whole) : []);
      }),
    );
  });

  it('leave JSON without the parts that are taken away, whichever they are', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyJson, fc.boolean())), blanks, (items, between) => {
        const kept = items.filter(([, isGone]) => !isGone).map(([value]) => value);
        const array = spaced(
          items.map(([value]) => value),
          between,
        );
        const places = itemsOf(array, rootOf(array));
        const left = edited(
          array,
          withoutParts(places, (place) => items[places.indexOf(place)]![1]),
        );
        expect(JSON.parse(left)).toEqual(JSON.parse(JSON.stringify(kept)));
      }),
    );
  });
});

describe('showList', () => {
  it('changes no text where it is to change nothing', () => {
    fc.assert(
      fc.property(fc.oneof(almostJson, fc.string()), (text) => {
        expect(showList(text, () => SAME)).toBe(text);
        expect(showList(answer(text), () => SAME)).toBe(answer(text));
      }),
    );
  });

  it('changes no text that is no answer to tools/list', () => {
    fc.assert(fc.property(almostJson, (text) => expect(showList(text, () => GATED)).toBe(text)));
  });

  it.each([
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}'],
    ['a list of something else', '{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"a","outputSchema":{}}]}}'],
    ['tools that are no list', '{"jsonrpc":"2.0","id":1,"result":{"tools":{"name":"a","outputSchema":{}}}}'],
    ['a batch', `[${answer('{"name":"a","outputSchema":{}}')}]`],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'],
    ['JSON cut short', answer('{"name":"a","outputSchema":{}}').slice(0, -1)],
    ['nothing', ''],
    ['entries that are no tools', answer('1,null,[],{"name":1,"outputSchema":{}},{"outputSchema":{}}')],
  ])('leaves %s as it is', (_name, text) => {
    expect(showList(text, () => ({ gated: true, hidden: ['a'] }))).toBe(text);
  });

  it('changes what it has to in place, and nothing else [LIST-5]', () => {
    const before =
      '{ "jsonrpc":"2.0", "id": 9007199254740993,\n "result":{"tools":[ {"name":"a","x-vendor":1e400,"x-vendor":9007199254740993},\n' +
      '  { "title" : "B", "name":"\\u0062", "outputSchema" : ';
    const schema = '{"type":"object", "properties":{"n":{"maximum":18446744073709551615}}}';
    const after =
      ' , "annotations":{"readOnlyHint":true,"vendor":[ ]} }, {"name":"c","outputSchema":{"type":"objekt"}}], "nextCursor":"x", "ttlMs":1.0}}\n';
    const shown = showList(before + schema + after, (name) => (name === 'b' ? GATED : SAME));
    expect(shown.replace(FORM, 'FORM')).toBe(`${before}{"type":"object","anyOf":[${schema},FORM]}${after}`);
  });

  it('lists ten tools of which one has a broken schema: gated, that one goes without it [LIST-7]', () => {
    const tool = (name: string, schema: string): string =>
      `{"name":"${name}","outputSchema":${schema},"inputSchema":{"type":"object"}}`;
    const good = Array.from({ length: 9 }, (_, n) => tool(`t${n}`, '{"type":"object"}'));
    const text = answer([...good, tool('bad', '{"type":"objekt"}')].join(','));
    const shown = showList(text, () => GATED);
    expect(names(shown)).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7', 't8', 'bad']);
    expect(shown).toContain('{"name":"bad","inputSchema":{"type":"object"}}');
    expect(shown.match(/"anyOf"/g)).toHaveLength(9);
    expect(showList(text, (name) => (name === 'bad' ? SAME : GATED))).toContain(tool('bad', '{"type":"objekt"}'));
  });

  it.each([
    ['first', '{"outputSchema":1 , "name":"a"}', '{"name":"a"}'],
    ['last', '{"name":"a" ,"outputSchema": true}', '{"name":"a"}'],
    ['twice', '{"outputSchema":{"type":"object"},"name":"a","outputSchema":null}', '{"name":"a"}'],
  ])('leaves out a schema that stands %s, with its comma', (_name, tool, shown) => {
    expect(showList(answer(tool), () => GATED)).toBe(answer(shown));
  });

  it('writes a schema that stands twice as the last one is read', () => {
    const text = answer('{"name":"a","outputSchema":{"type":"objekt"},"outputSchema":{"type":"object"}}');
    const listed = '{"type":"object","anyOf":[{"type":"object"},FORM]}';
    const shown = showList(text, () => GATED)
      .replace(FORM, 'FORM')
      .replace(FORM, 'FORM');
    expect(shown).toBe(answer(`{"name":"a","outputSchema":${listed},"outputSchema":${listed}}`));
  });

  it('reads result and tools that stand twice as clients do, the last ones', () => {
    const text =
      '{"result":{"tools":[{"name":"a","outputSchema":1}]},"result":{"tools":[{"name":"b","outputSchema":2}],"tools":[{"name":"c","outputSchema":3}]}}';
    expect(showList(text, () => GATED)).toBe(
      '{"result":{"tools":[{"name":"a","outputSchema":1}]},"result":{"tools":[{"name":"b","outputSchema":2}],"tools":[{"name":"c"}]}}',
    );
  });

  it('does not offer arguments that Holdpoint fills in, gated or not [SWAP-18]', () => {
    const tool = (properties: string, required: string): string =>
      `{"name":"a","inputSchema":{"type":"object","properties":{${properties}},"required":[${required}]}}`;
    const text = answer(tool('"sql":{"type":"string"},"operation_id":{}', '"operation_id","sql"'));
    const shown = answer(tool('"sql":{"type":"string"}', '"sql"'));
    expect(showList(text, () => ({ gated: false, hidden: ['operation_id'] }))).toBe(shown);
    expect(showList(text, () => ({ gated: true, hidden: ['operation_id'] }))).toBe(shown);
  });

  it('asks about each tool by its name and whole entry, once', () => {
    const asked: unknown[] = [];
    showList(answer('{"name":"a","x":1},{"name":"\\u0062"}'), (name, raw) => {
      asked.push([name, raw]);
      return SAME;
    });
    expect(asked).toEqual([
      ['a', { name: 'a', x: 1 }],
      ['b', { name: 'b' }],
    ]);
  });

  it('takes a list of any depth', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const text = answer(`{"name":"a","x":${deep},"outputSchema":{"type":"objekt"}}`);
    expect(showList(text, () => GATED)).toBe(answer(`{"name":"a","x":${deep}}`));
  });

  it('changes the value of the two schemas alone, whatever else a list holds', () => {
    const schema = fc.constantFrom<unknown>({ type: 'object', $ref: '#/x', x: {} }, { type: 'objekt' }, 1, null);
    const tool = fc
      .tuple(fc.dictionary(fc.string(), anyJson), fc.option(schema, { nil: undefined }), anyJson)
      .map(([rest, outputSchema, inputSchema]) => ({ ...rest, name: 'a', outputSchema, inputSchema }));
    fc.assert(
      fc.property(fc.array(tool), fc.dictionary(fc.string(), anyJson), blanks, (tools, rest, between) => {
        const text = spaced(
          { ...rest, result: { ...rest, tools: JSON.parse(JSON.stringify(tools)) as unknown } },
          between,
        );
        const without = (list: string): unknown =>
          JSON.parse(list, (name, value: unknown) => (/^(?:input|output)Schema$/.test(name) ? undefined : value));
        const shown = showList(text, () => ({ gated: true, hidden: ['a', 'b'] }));
        expect(without(shown)).toEqual(without(text));
      }),
    );
  });
});
