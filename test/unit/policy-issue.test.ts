import { z } from 'zod';
import { faultsOfIssues } from '../../core/policy-issue';

test('a type that no policy key has is named as the schema names it', () => {
  const result = z.object({ at: z.date() }).safeParse({ at: 5 });
  const issues = result.success ? [] : result.error.issues;
  expect(faultsOfIssues(issues, { value: { at: 5 }, path: ['rules', 0] })).toEqual([
    {
      code: 'POLICY_WRONG_TYPE',
      path: ['rules', 0, 'at'],
      at: 'value',
      message: 'rules[0].at must be date, not 5',
      hint: null,
    },
  ]);
});
