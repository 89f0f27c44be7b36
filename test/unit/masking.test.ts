import { maskSecrets } from '../../activities/masking';
import { touchesSecret } from '../../core/touches-secret';

const KEY = new Uint8Array(32).fill(7);

test('what each pointer names becomes a keyed token, at any depth [BIND-05] [SCREEN-12]', () => {
  const args = { db: { password: 'hunter2', host: 'h' }, users: [{ token: 'abc' }, { token: 'def' }] };
  const masked = maskSecrets(args, ['/db/password', '/users/0/token'], KEY);
  expect(masked).toEqual({
    db: { password: expect.stringMatching(/^secret:[0-9a-f]{32}$/) as string, host: 'h' },
    users: [{ token: expect.stringMatching(/^secret:/) as string }, { token: 'def' }],
  });
  expect(JSON.stringify(masked)).not.toContain('hunter2');
});

test('equal secrets have one token, other secrets another [BIND-05]', () => {
  const token = (password: string) => maskSecrets({ password }, ['/password'], KEY)['password'];
  expect(token('a')).toBe(token('a'));
  expect(token('a')).not.toBe(token('b'));
});

test('a pointer that finds nothing changes nothing', () => {
  expect(maskSecrets({ a: 1 }, ['/b/c', '/a/b'], KEY)).toEqual({ a: 1 });
});

test('a name like a property of objects is masked as its own', () => {
  expect(
    maskSecrets(
      JSON.parse('{"constructor":"x"}') as { constructor: string } & Record<string, never>,
      ['/constructor'],
      KEY,
    ),
  ).toEqual({
    constructor: expect.stringMatching(/^secret:/) as string,
  });
});

test.each([
  ['/password', true],
  ['/password/inner', true],
  ['', true],
  ['/passwords', false],
  ['/user', false],
])('a material field at %j touches the secret /password: %s', (pointer, expected) => {
  expect(touchesSecret(pointer, ['/password'])).toBe(expected);
});
