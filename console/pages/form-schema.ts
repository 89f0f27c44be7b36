import { z } from 'zod';

const csrf = z.string().max(300);

/** What people write: a browser sends each line end as two characters, of which one is a control. */
const words = z
  .string()
  .max(8_000)
  .transform((text) => text.replaceAll('\r\n', '\n').trim());

const wholeNumber = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'a whole number, 1 or more')
  .transform(Number);

/** Left empty is left out. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => undefined), schema]).exactOptional();

/** The form of a decision; a field that it does not know makes the whole form malformed. */
export const decisionForm = z.strictObject({
  csrf,
  decisionId: z.string().min(1).max(300),
  revision: wholeNumber,
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'a digest is sha256: and 64 hex digits'),
  answer: z.enum(['allow', 'deny']),
  /** The box that stands for having read it. */
  read: z.literal('yes').exactOptional(),
  reason: optional(words),
  minutes: optional(wholeNumber),
  /** The emergency rule under which it allows, and the ticket. */
  rule: z.string().min(1).max(300).exactOptional(),
  ticket: words.pipe(z.string().max(300)).exactOptional(),
  /** No form has it; who carries another name in is told so. */
  reviewer: z.string().min(1).max(300).exactOptional(),
});

export type DecisionForm = z.infer<typeof decisionForm>;

export const retrospectiveForm = z.strictObject({
  csrf,
  finding: z.enum(['justified', 'notJustified']),
  note: words.pipe(z.string().min(1, 'say what you found').max(4_000)),
});

export const secondReviewForm = z.strictObject({
  csrf,
  revision: wholeNumber,
  answer: z.enum(['allow', 'deny']),
  note: words.pipe(z.string().max(4_000)),
});

export const settlementForm = z.strictObject({
  csrf,
  outcome: z.enum(['executed', 'failed']),
  reason: words.pipe(z.string().min(1, 'say how you know').max(4_000)),
});

export const revocationForm = z.strictObject({
  csrf,
  reason: words.pipe(z.string().min(1, 'say why').max(4_000)),
});
