import { z } from '@hono/zod-openapi';

const EXAMPLE_OPERATION = 'op_9f2c1b7a4e0d8c6f5a3b2e1d0c9f8a7b6c5d4e3f';
export const EXAMPLE_DIGEST = 'sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';

export const timeMs = z.int().openapi({ description: 'Epoch milliseconds.', example: 1_796_121_000_000 });
export const durationMs = z.int().openapi({ description: 'Milliseconds.', example: 1_800_000 });
export const text = z.string();
export const texts = z.array(z.string()).readonly();

export const json = z
  .union([
    z.string(),
    z.number(),
    z.boolean(),
    z.null(),
    z.array(z.unknown()).readonly(),
    z.record(z.string(), z.unknown()),
  ])
  .openapi('Json', { description: 'Any JSON value.' });

export const jsonObject = z.record(z.string(), z.unknown());

/** An operation, by whatever of its names a person has at hand. */
export const anyId = z.string().min(3).max(64).openapi({
  description: 'An operation id, the short id of a request, or the beginning of either.',
  example: 'K7P3M9QX',
});

export const operationId = z
  .string()
  .regex(/^op_[0-9a-f]{40}$/, 'an operation id is op_ and 40 hex digits')
  .openapi({ example: EXAMPLE_OPERATION });

export const revision = z.int().min(1).max(1_000).openapi({ example: 1 });

export const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'a digest is sha256: and 64 hex digits')
  .openapi({ example: EXAMPLE_DIGEST });

/** A whole number in a query: digits and nothing else. */
export function wholeNumber(name: string, { min, max }: { readonly min: number; readonly max: number }) {
  const rule = `${name} is a whole number, ${min} to ${max}`;
  return z
    .string()
    .regex(/^[1-9]\d{0,5}$/, rule)
    .transform(Number)
    .refine((value) => value >= min && value <= max, rule)
    .openapi({ type: 'integer', minimum: min, maximum: max });
}

export const cursor = z
  .string()
  .min(1)
  .max(400)
  .optional()
  .openapi({ description: 'The "next" of the page before; left out, the first page.' });

export const limit = wholeNumber('limit', { min: 1, max: 200 })
  .optional()
  .openapi({ description: 'Items of a page, 50 by default.' });

export const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .openapi({ type: 'boolean' });

export const next = z
  .string()
  .nullable()
  .openapi({ description: 'The cursor of the next page; null on the last one.', example: null });

export const rule = z.object({ id: text, version: text }).openapi('Rule');

export const reason = z
  .string()
  .min(1)
  .max(4_000)
  .regex(/\S/, 'a reason has words')
  .openapi({ example: 'the migration ran on staging first' });
