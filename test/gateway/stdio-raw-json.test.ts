import fc from 'fast-check';
import { idText, memberSpan, spanAt, withValueAt } from '../../gateway/wire/raw-json';

const valueOf = (text: string, name: string) => {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
};

describe('where a value stands in a raw JSON text', () => {
  it.each([
    ['{"id":1}', '1'],
    ['\t{ "a" : [ "}" , {"id":2} ] , "id" : 9007199254740993 , "z":{}}', '9007199254740993'],
    ['{"id":"a\\"b\\\\","x":1}', '"a\\"b\\\\"'],
    ['{"\\u0069d":1e400\r\n}', '1e400'],
    ['{"id":1,"id":"2"}', '"2"'],
    ['{"x":{"id":1},"id":null}', 'null'],
    ['{"id":{"a":["]"]},"b":1}', '{"a":["]"]}'],
  ])('the id of %s', (text, id) => expect(idText(text)).toBe(id));

  it.each(['{}', '{"x":{"id":1}}', '[{"id":1}]', '"id"', ''])('there is none in %s', (text) =>
    expect(memberSpan(text, 'id')).toBeUndefined(),
  );

  it('is found on a path, and replaced there alone', () => {
    const text = '{"_meta":{"t":1}, "params":{ "_meta" : {"t" : 1 ,"u":1e400} } }';
    expect(spanAt(text, ['params', '_meta', 't'])).toEqual({ start: 46, end: 47 });
    expect(withValueAt(text, ['params', '_meta', 't'], '"é"')).toBe(
      '{"_meta":{"t":1}, "params":{ "_meta" : {"t" : "é" ,"u":1e400} } }',
    );
    expect(withValueAt(text, ['params', 't'], '2')).toBe(text);
  });

  it('of megabytes is found as well', () => {
    const text = `{"params":{"a":"${'\\"é'.repeat(1_000_000)}"},"id":7}`;
    expect(idText(text)).toBe('7');
  });

  it('agrees with JSON.parse for any member of any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        for (const [name, value] of Object.entries(object)) {
          expect(JSON.parse(valueOf(text, name) ?? 'missing')).toEqual(JSON.parse(JSON.stringify(value)));
        }
      }),
    );
  });
});
