import { z } from 'zod';
import { issuesText, strictObject } from '../../core/schema-issues';

const schema = strictObject({
  subject: z.string(),
  minutes: z.int(),
  sum: z.bigint().exactOptional(),
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
])('%j is refused: %s', (value, text) => {
  const parsed = schema.safeParse(value);
  expect(parsed.success ? 'accepted' : issuesText(parsed.error, 'the whole')).toBe(text);
});
