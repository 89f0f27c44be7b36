import type { z } from '@hono/zod-openapi';
import { cut } from '../../core/display';
import { ruleText } from '../../core/schema-issues';
import { problem, type FieldError } from './problem';

const PLACES = { json: 'body', query: 'query', param: 'path', header: 'header' } as const satisfies Record<
  string,
  FieldError['in']
>;

/** More are not listed: whoever corrects these sees the rest. */
const MOST_LISTED = 20;
const LONGEST_NAME = 100;

type Checked = { readonly target: string } & (
  { readonly success: true } | { readonly success: false; readonly error: z.core.$ZodError }
);

/** The answer to what a schema refuses; nothing where it refuses nothing. */
export function invalid(checked: Checked): Response | undefined {
  if (checked.success) return undefined;
  const { target, error } = checked;
  const where = isPlace(target) ? PLACES[target] : 'body';
  const errors = error.issues.flatMap((issue) => errorsOf(issue, where)).slice(0, MOST_LISTED);
  const detail = errors.map((each) => `${each.in}${each.field}: ${each.detail}`).join('; ');
  return problem({ code: 'INVALID_REQUEST', detail, errors });
}

function isPlace(target: string): target is keyof typeof PLACES {
  return target in PLACES;
}

function errorsOf(issue: z.core.$ZodIssue, where: FieldError['in']): readonly FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      in: where,
      field: pointer([...issue.path, key]),
      detail: 'it is not known here; leave it out',
    }));
  return [{ in: where, field: pointer(issue.path), detail: ruleText(issue) }];
}

function pointer(path: readonly PropertyKey[]): string {
  const names = path.map((part) => cut(String(part), LONGEST_NAME));
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
