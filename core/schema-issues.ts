import { z } from 'zod';
import { nearestName } from './nearest-name';

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** An object with these members and no others; what is meant by an unknown name is said where one is near. */
export function strictObject<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownNames(issue.keys, names) : undefined),
  });
}

function unknownNames(keys: readonly string[], names: readonly string[]): string {
  return keys.map((key) => `${JSON.stringify(key)} is not known here${hint(nearestName(key, names))}`).join(', ');
}

function hint(nearest: string | null): string {
  return nearest === null ? '' : ` (did you mean ${JSON.stringify(nearest)}?)`;
}

/** What a schema refused, in words: each place and its rule. `whole` names what stands at no place of its own. */
export function issuesText(error: z.ZodError, whole: string): string {
  return error.issues.map((issue) => `${issue.path.join('.') || whole}: ${ruleText(issue)}`).join('; ');
}

function ruleText(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  const type = TYPE_NAMES[issue.expected] ?? issue.expected;
  return issue.message.endsWith('received undefined') ? `it is missing; give ${type}` : `it must be ${type}`;
}
