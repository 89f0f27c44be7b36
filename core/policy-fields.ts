import { z } from 'zod';
import { parseJsonPointer } from './json';
import type { JsonValue } from './json';
import { quoted } from './policy-fault';
import type { DurationBounds } from './policy-limits';

/** Why a value is refused, after its place: `must be …`; what to do; and which part of it, where it is not the whole. */
export type Complaint = { readonly message: string; readonly hint?: string; readonly path?: readonly string[] };

/**
 * A mapping with exactly these keys. The message of an unknown key is the list of the allowed ones: what a person reads
 * is made from it in policy-issue.ts.
 */
export function shape<Fields extends z.core.$ZodShape>(fields: Fields) {
  const allowed = Object.keys(fields).join(' ');
  return z.strictObject(fields, { error: ({ code }) => (code === 'unrecognized_keys' ? allowed : undefined) });
}

/** A value whose form depends on the value itself. */
export function choose<Output>(pick: (value: unknown) => z.ZodType<Output>) {
  return z.unknown().transform((value, context): Output => {
    const result = pick(value).safeParse(value);
    if (result.success) return result.data;
    for (const issue of result.error.issues) context.issues.push({ ...issue, input: undefined });
    return z.NEVER;
  });
}

/** Refuses the value that is being read. */
export function complain(context: z.core.$RefinementCtx, { message, hint, path = [] }: Complaint): never {
  context.addIssue({ code: 'custom', message, params: { hint }, path: [...path] });
  return z.NEVER;
}

/** A text that `judge` has no complaint about. */
export function text(judge: (value: string) => Complaint | null) {
  return z.string().superRefine((value, context) => {
    const complaint = judge(value);
    if (complaint !== null) complain(context, complaint);
  });
}

/** A text of one form; `message` says which. */
export function matching(pattern: RegExp, message: string) {
  return text((value) => (pattern.test(value) ? null : { message }));
}

const NAME_RULE = 'must be 1 to 64 letters, digits, or . _ - and begin with a letter or digit';

/** A server or rule id: it stands in paths, tokens and reports. */
export const plainName = matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, NAME_RULE);

/** A person or group; an e-mail address will do. */
export const personName = matching(
  /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/,
  'must be 1 to 64 letters, digits, or . _ @ + - and begin with a letter or digit',
);

export const whoFields = { groups: z.array(personName).default([]), people: z.array(personName).default([]) };

/** Groups and people. */
export const who = shape(whoFields);

export const materialName = matching(
  /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
  'must be 1 to 64 letters, digits, _ or - and begin with a letter',
);

export const toolName = matching(
  /^(?!\*$)[\x21-\x7e]{1,128}$/,
  'must be the name of one tool: 1 to 128 visible ASCII characters; "*" is not a name here',
);

/** The name of an argument as the tool spells it. */
export const argumentName = matching(/^[^\p{Cc}\p{Cf}]{1,128}$/u, 'must be 1 to 128 visible characters');

/** A requester's name as it comes in; nothing that looks like a pattern. */
export const subjectName = matching(
  /^(?!group:|\*$)[^\p{Cc}\p{Cf}\p{Z}]{1,200}$/u,
  'must be 1 to 200 characters without spaces, not "*" and not "group:…"',
);

export const caption = matching(/^[^\p{Cc}\p{Cf}]{1,500}$/u, 'must be 1 to 500 visible characters in one line');

/** A JSON pointer (RFC 6901); `''` is the whole value. */
export const pointer = text(judgePointer);

/** A pointer to one thing inside: not the whole value. */
export const innerPointer = text((value) =>
  value === '' ? { message: 'must point at one field' } : judgePointer(value),
);

function judgePointer(value: string): Complaint | null {
  const parsed = parseJsonPointer(value);
  if (parsed.ok) return null;
  const message = 'must be a JSON pointer such as /environment or /items/0/id';
  return value.startsWith('/') ? { message, hint: parsed.detail } : { message, hint: `Write ${quoted(`/${value}`)}.` };
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `10s`, `10m`, `2h` or `7d`, in milliseconds. */
export function duration(bounds: DurationBounds) {
  return z.unknown().transform((value, context): number => {
    const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(typeof value === 'string' ? value : '') ?? [];
    const ms = Number(count) * (UNITS_MS[unit] ?? NaN);
    if (Number.isNaN(ms)) return complain(context, { message: 'must be a duration such as 10s, 10m, 2h or 7d' });
    if (ms >= bounds.minMs && ms <= bounds.maxMs) return ms;
    return complain(context, { message: `must be ${durationText(bounds.minMs)} to ${durationText(bounds.maxMs)}` });
  });
}

/** A duration in its largest whole unit, as the policy spells it. */
export function durationText(ms: number): string {
  const fits = Object.entries(UNITS_MS).filter(([, unitMs]) => ms >= unitMs && ms % unitMs === 0);
  const [unit, unitMs] = fits.at(-1) ?? ['s', 1_000];
  return `${ms / unitMs}${unit}`;
}

/** A text, a number, or true or false. */
export const scalar = z.unknown().transform((value, context): string | number | boolean => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return complain(context, { message: 'must be text, a number, or true or false' });
});

/** Any value: the tree that is read holds JSON values only. */
export const anyValue = z.custom<JsonValue>((value) => value !== undefined);

/** A list with at least one entry. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).min(1);
}
