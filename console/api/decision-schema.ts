import { z } from '@hono/zod-openapi';
import { decisionRecord, operationRecord } from './operation-schema';
import { ask, requestRecord } from './request-schema';
import { EXAMPLE_DIGEST, digest, durationMs, revision, text, texts, timeMs } from './schema-parts';

const counts = z.object({ allows: z.int(), needed: z.int() });

const may = z
  .discriminatedUnion('ok', [
    z.object({ ok: z.literal(true) }),
    z.object({ ok: z.literal(false), code: text, detail: text }),
  ])
  .openapi('MayAnswer', { description: 'Whether this answer of the viewer could count now.' });

export const requestView = z
  .object({
    ...requestRecord.shape,
    latestRevision: z.int(),
    decisions: z.array(decisionRecord).readonly(),
    operation: operationRecord.nullable(),
    people: counts.extend({ able: texts }).nullable(),
    ...{ mayAllow: may, mayDeny: may },
    emergencies: z
      .array(
        z.object({
          ...{ rule: text, ask, skipped: texts, reviewers: texts, reviewWithinMs: durationMs },
          overdue: z
            .object({ grantId: text, dueAtMs: timeMs, isTheirs: z.boolean() })
            .nullable()
            .openapi({ description: 'The review that has to be closed before; "isTheirs": the viewer may see it.' }),
          may,
        }),
      )
      .readonly()
      .openapi({ description: 'Emergency rules that name the viewer among their people, and whom each would skip.' }),
    nowMs: timeMs,
  })
  .openapi('RequestView', { description: 'One approval request, and what its page shows.' });

export const givenDecision = z
  .strictObject({
    answer: z.enum(['allow', 'deny']),
    revision,
    digest: digest.openapi({ description: 'The "bindingDigest" of the request that was read.' }),
    reason: z.string().max(4_000).optional().openapi({ description: 'A denial needs one: it reaches the agent.' }),
    minutes: z.int().min(1).max(525_600).optional().openapi({ description: 'A shorter hold than the rule gives.' }),
    emergency: z
      .strictObject({ rule: z.string().min(1).max(300), ticket: z.string().max(300) })
      .optional()
      .openapi({ description: 'Allows under an emergency rule, which skips the approvers; needs a reason.' }),
    reviewer: z.string().min(1).max(300).optional().openapi({ description: 'The viewer’s own name, or left out.' }),
  })
  .openapi('GivenDecision', { example: { answer: 'allow', revision: 1, digest: EXAMPLE_DIGEST } });

export const idempotency = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'an idempotency key has 1 to 200 visible ASCII characters')
    .optional()
    .openapi({
      description: 'The same decision under the same key is the same decision; random where it is left out.',
      example: '6b0c7f6e-1f7e-4b57-9f43-5a7c0b9ad0f1',
    }),
});

export const verdictParts = {
  operationId: text.nullable(),
  revision: z.int().nullable(),
  state: text.nullable().openapi({ description: 'Of the request, or of the operation where it was sent.' }),
  decidedBy: texts,
  counted: counts.nullable(),
};

export const verdict = z
  .object({ code: z.enum(['accepted', 'alreadyDecided']), detail: text, ...verdictParts })
  .openapi('Verdict', { description: 'The decision counts, or another gave the same answer before.' });
