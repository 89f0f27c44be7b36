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

test('a value that looks like a place stays as it is', () => {
  expect(refusal('TURN_CONFLICT', { turn: '{turn} $& x' }).detail).toContain('The turn {turn} $& x exists');
});
