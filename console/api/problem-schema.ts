import { z } from '@hono/zod-openapi';
import { verdictParts } from './decision-schema';
import { PROBLEMS, type ProblemCode } from './problem-codes';
import { text } from './schema-parts';

const CODES = Object.keys(PROBLEMS).filter((code): code is ProblemCode => code in PROBLEMS);

const fieldError = z
  .object({
    in: z.enum(['query', 'path', 'header', 'body']),
    field: text.openapi({ description: 'A JSON pointer.', example: '/revision' }),
    detail: text,
  })
  .openapi('FieldError');

/** RFC 9457; a verdict's own members where the ledger judged a decision. */
export const problemSchema = z
  .object({
    type: text.openapi({ description: 'A tag URI that ends in the code.' }),
    title: text,
    status: z.int(),
    code: z.enum(CODES),
    detail: text,
    errors: z.array(fieldError).readonly().optional(),
    cause: text.optional().openapi({ description: 'The code of the store’s or of Temporal’s own error.' }),
    operationId: verdictParts.operationId.optional(),
    revision: verdictParts.revision.optional(),
    state: verdictParts.state.optional(),
    decidedBy: verdictParts.decidedBy.optional(),
    counted: verdictParts.counted.optional(),
  })
  .openapi('Problem', {
    example: {
      type: 'tag:holdpoint.dev,2026:problem/NOT_FOUND',
      title: PROBLEMS.NOT_FOUND.title,
      status: 404,
      code: 'NOT_FOUND',
      detail: 'There is no such thing, or it does not concern you.',
    },
  });
