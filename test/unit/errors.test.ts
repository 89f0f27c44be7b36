import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, refusal } from '../../core/errors';

const page = readFileSync(join(__dirname, '../../docs/errors.md'), 'utf8');
const rows = page.split('\n').filter((line) => /^\| `[A-Z]/.test(line));

test('docs/errors.md lists every code once, in order, with its message and whether it may succeed later', () => {
  const expected = Object.entries(ERRORS).map(
    ([code, { message, retryable }]) =>
      `| \`${code}\` | ${message.replaceAll('|', '\\|').replaceAll('\n', '<br>')} | ${retryable ? 'yes' : 'no'} |`,
  );
  expect(rows).toEqual(expected);
});

test('codes are in alphabetical order', () => {
  const codes = Object.keys(ERRORS);
  expect(codes).toEqual([...codes].sort());
});

test('a message has the values in its places, and a question mark where none was given', () => {
  expect(refusal('TOOL_UNKNOWN', { server: 'orders-db' }).detail).toBe('The server orders-db lists no tool ?.');
});

test('a full stop that a value brings is not doubled', () => {
  expect(refusal('TURN_INVALID', { detail: 'send less (at /a).' }).detail).toBe(
    'The turn cannot be started: send less (at /a).',
  );
});

test('a value that looks like a place stays as it is', () => {
  expect(refusal('TURN_CONFLICT', { turn: '{turn} $& x' }).detail).toContain('The turn {turn} $& x exists');
});

test.each([
  ['half a character', 'a\ud800b', 'a⟦U+D800⟧b'],
  ['a NUL and an escape', 'a\u0000\u001bb', 'a⟦U+0000⟧⟦U+001B⟧b'],
  ['two lines', 'a\nb', 'a\nb'],
  ['a character across the limit', `${'x'.repeat(1_999)}😀y`, `${'x'.repeat(1_999)}…`],
  ['2,000 NULs', '\u0000'.repeat(2_000), `${'⟦U+0000⟧'.repeat(250)}…`],
])('a value with %s can be stored and digested', (_name, detail, shown) => {
  expect(refusal('TURN_INVALID', { detail }).detail).toBe(`The turn cannot be started: ${shown}.`);
});
