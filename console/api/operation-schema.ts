import { z } from '@hono/zod-openapi';
import { requestRecord } from './request-schema';
import { jsonObject, next, operationId, reason, rule, text, texts, timeMs } from './schema-parts';

export const OPERATION_STATES = ['dispatched', 'executed', 'failed', 'unknown'] as const;

const approval = z
  .object({
    operationId: text,
    revision: z.int(),
    deciders: texts,
    askedRule: rule.nullable(),
    permittedRule: rule.nullable(),
    grantId: text.nullable(),
    ...{ emergency: z.boolean(), verified: z.boolean() },
  })
  .openapi('Approval', { description: 'What permitted the operation.' });

export const operationRecord = z
  .object({
    operationId,
    state: z.enum(OPERATION_STATES),
    requester: z.object({ subject: text, agent: text }),
    ...{ server: text, tool: text, workflowId: text, callId: text },
    attempt: z.int(),
    dispatchedAtMs: timeMs,
    endedAtMs: timeMs.nullable(),
    ...{ evidence: text.nullable(), detail: text.nullable(), settledBy: text.nullable() },
    isError: z.boolean().nullable(),
    approval: approval.nullable(),
  })
  .openapi('Operation', { description: 'An operation that was sent; its result stays with its turn.' });

export const operationPage = z.object({ items: z.array(operationRecord).readonly(), next }).openapi('OperationPage');

export const decisionRecord = z
  .object({
    decisionId: text,
    revision: z.int(),
    reviewer: text,
    answer: z.enum(['allow', 'deny']),
    reason: text.nullable(),
    channel: text,
    verified: z.boolean().openapi({ description: 'Signed by a key that counts for the reviewer.' }),
    minutes: z.int().nullable(),
    emergency: text.nullable().openapi({ description: 'The emergency rule under which it allows.' }),
    atMs: timeMs,
  })
  .openapi('DecisionRecord', { description: 'A decision that counts.' });

const fact = z
  .object({ seq: z.int(), atMs: timeMs, kind: text, body: jsonObject })
  .openapi('Fact', { description: 'One record of the audit.' });

export const operationStory = z
  .object({
    operationId,
    operation: operationRecord.nullable(),
    revisions: z.array(requestRecord).readonly(),
    decisions: z.array(decisionRecord).readonly(),
    facts: z.array(fact).readonly(),
    nowMs: timeMs,
  })
  .openapi('OperationStory', { description: 'What was asked, decided, re-checked, sent and committed.' });

export const settlement = z
  .strictObject({ outcome: z.enum(['executed', 'failed']), reason })
  .openapi('Settlement', { example: { outcome: 'executed', reason: 'the row is there, looked at by hand' } });

export const settled = z
  .object({ operationId, outcome: z.enum(['executed', 'failed']) })
  .openapi('Settled', { description: 'The outcome on record.' });

export const reversal = z
  .strictObject({ reason })
  .openapi('Reversal', { example: { reason: 'the wrong tenant; restored from the backup of 10:00' } });

export const reversed = z.object({ operationId, reason: text, by: text }).openapi('ReversedOperation');
