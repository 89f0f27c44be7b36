import { z } from 'zod';
import { issuesText, strictObject } from '../../core/schema-issues';

const schema = strictObject({
  subject: z.string(),
  minutes: z.int(),
  sum: z.bigint().exactOptional(),
  word: z.enum(['yes', 'no']).exactOptional(),
  one: z.literal('x').exactOptional(),
  count: z.number().min(2).max(9).exactOptional(),
  name: z.string().min(1).max(3).exactOptional(),
  pair: z.array(z.string()).min(2).max(3).exactOptional(),
  digits: z.string().regex(/^\d+$/).exactOptional(),
  list: z.array(z.string().max(2, 'it has more than 2 characters')).exactOptional(),
});

test.each([
  [
    { subject: 'a', minute: 5, zzz: 1 },
    'minutes: it is missing; give a number; the whole: "minute" is not known here (did you mean "minutes"?), "zzz" is not known here',
  ],
  [{ subject: 7, minutes: 'x' }, 'subject: it must be a text; minutes: it must be a number'],
  [{ subject: 'a', minutes: 1.5 }, 'minutes: it must be a whole number'],
  [{ subject: 'a', minutes: 1, list: ['a', 'abc'] }, 'list.1: it has more than 2 characters'],
  [{ subject: 'a', minutes: 1, sum: 1 }, 'sum: it must be bigint'],
  ['text', 'the whole: it must be an object'],
  [{ subject: 'a', minutes: 1, word: 'maybe', one: 'y' }, 'word: it must be one of yes, no; one: it must be x'],
  [{ subject: 'a', minutes: 1, count: 1, name: '' }, 'count: it must be at least 2; name: it must not be empty'],
  [
    { subject: 'a', minutes: 1, count: 10, name: 'abcd' },
    'count: it must be at most 9; name: it must have at most 3 characters',
  ],
  [{ subject: 'a', minutes: 1, pair: ['a'] }, 'pair: it must have at least 2 entries'],
  [{ subject: 'a', minutes: 1, pair: ['a', 'b', 'c', 'd'] }, 'pair: it must have at most 3 entries'],
  [{ subject: 'a', minutes: 1, digits: 'x' }, 'digits: it has a form that is not known here'],
])('%j is refused: %s', (value, text) => {
  const parsed = schema.safeParse(value);
  expect(parsed.success ? 'accepted' : issuesText(parsed.error, 'the whole')).toBe(text);
});
