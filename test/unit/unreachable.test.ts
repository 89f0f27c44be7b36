import { unreachable } from '../../core/unreachable';

test('a value that no case knows stops the work, by name', () => {
  expect(() => unreachable('reopened' as never)).toThrow('No case for "reopened"');
});

test('an object is not printed, since it may hold a secret', () => {
  expect(() => unreachable({ password: 'hunter2' } as never)).toThrow('No case for object');
});
