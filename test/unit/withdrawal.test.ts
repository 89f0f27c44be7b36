import { readWithdrawal } from '../../workflows/withdrawal';

test.each([
  ['a character across the limit', `${'x'.repeat(999)}😀`, `${'x'.repeat(999)}…`],
  ['half a character', 'a\udc00', 'a⟦U+DC00⟧'],
  ['a NUL', 'a\u0000b', 'a⟦U+0000⟧b'],
])('a reason with %s can be stored and digested', (_name, reason, kept) => {
  expect(readWithdrawal({ reason })).toEqual({ callId: undefined, reason: `the requester took it back: ${kept}` });
});
