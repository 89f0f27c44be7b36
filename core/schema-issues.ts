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

/** What zod itself would say; a schema that has its own words begins in no such way. */
const LIBRARY_WORDS = /^(Invalid|Too small|Too big)/;

/** The rule that was broken, in words of ours: those of the schema where it has any. */
export function ruleText(issue: z.core.$ZodIssue): string {
  if (!LIBRARY_WORDS.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return typeText(issue);
    case 'invalid_value':
      return `it must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return boundText(issue.origin, `${issue.minimum}`, 'at least');
    case 'too_big':
      return boundText(issue.origin, `${issue.maximum}`, 'at most');
    default:
      return 'it has a form that is not known here';
  }
}

function typeText({ expected, message }: z.core.$ZodIssueInvalidType): string {
  const type = TYPE_NAMES[expected] ?? expected;
  return message.endsWith('received undefined') ? `it is missing; give ${type}` : `it must be ${type}`;
}

const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' };

function boundText(origin: string, bound: string, side: 'at least' | 'at most'): string {
  const counted = COUNTED[origin];
  if (counted === undefined) return `it must be ${side} ${bound}`;
  return side === 'at least' && bound === '1' ? 'it must not be empty' : `it must have ${side} ${bound} ${counted}`;
}
