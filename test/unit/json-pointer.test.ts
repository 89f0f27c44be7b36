import { atPointer, parseJsonPointer } from '../../core/json';

/** The document of RFC 6901 section 5. */
const document = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

test.each([
  ['', document],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
])('the pointer %j of RFC 6901 finds its value', (pointer, value) => {
  expect(atPointer(document, pointer)).toEqual({ found: true, value });
});

test.each([
  '/foo/2',
  '/foo/-',
  '/foo/01',
  '/foo/-1',
  '/foo/1e0',
  '/foo/length',
  '/foo/0/0',
  '/nope',
  '/foo/',
  '/toString',
  '/constructor',
])('%s finds nothing', (pointer) => {
  expect(atPointer(document, pointer)).toEqual({ found: false });
});

test('null is found, and nothing is inside it', () => {
  expect(atPointer({ a: null }, '/a')).toEqual({ found: true, value: null });
  expect(atPointer({ a: null }, '/a/b')).toEqual({ found: false });
});

test('an own constructor is found [CANON-7]', () => {
  expect(atPointer({ constructor: 1 }, '/constructor')).toEqual({ found: true, value: 1 });
});

test('escapes are undone in one pass: ~01 is ~1, not /', () => {
  expect(parseJsonPointer('/~01/~1~0')).toEqual({ ok: true, tokens: ['~1', '/~'] });
});

test.each([
  ['foo', 'Not a JSON pointer: it must be empty or begin with "/".'],
  ['#/foo', 'Not a JSON pointer: it must be empty or begin with "/".'],
  ['/a~', 'Not a JSON pointer: "~" must be written "~0", and "/" inside a name "~1".'],
  ['/a~2b', 'Not a JSON pointer: "~" must be written "~0", and "/" inside a name "~1".'],
])('%s is malformed and finds nothing', (pointer, detail) => {
  expect(parseJsonPointer(pointer)).toEqual({ ok: false, code: 'JSON_POINTER_SYNTAX', detail });
  expect(atPointer({ 'a~': 1, foo: 2 }, pointer)).toEqual({ found: false });
});
