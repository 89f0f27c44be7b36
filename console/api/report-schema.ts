import { z } from '@hono/zod-openapi';
import { REPORT_WINDOWS } from '../reports/report';
import { durationMs, text, texts, timeMs } from './schema-parts';

const count = z.int().min(0);

export const reportWindow = z
  .enum(REPORT_WINDOWS)
  .optional()
  .openapi({ description: 'How far back the reports look; 7d by default.' });

const requestCounts = {
  opened: count,
  allowed: count,
  denied: count,
  expired: count.openapi({ description: 'Abandoned: nobody decided in time.' }),
  withdrawn: count,
  refused: count,
  escalated: count,
  stale: count,
  repeated: count.openapi({ description: 'Asked for what the same requester had asked for within 24 hours before.' }),
  afterDenial: count.openapi({ description: 'Of these, what had been denied within them.' }),
};

const ruleLine = z
  .object({
    rule: text.nullable().openapi({ description: 'Null where the runtime itself asked.' }),
    ...{ server: text, tool: text },
    ...requestCounts,
    staleBy: z.array(z.object({ cause: text, count })).readonly(),
    signs: z.array(z.enum(['alwaysAllowed', 'oftenAbandoned', 'oftenRepeated', 'oftenStale'])).readonly(),
  })
  .openapi('RuleLine', { description: 'What became of the requests of one rule for one tool.' });

const toolLine = z
  .object({
    ...{ server: text, tool: text },
    ...{ sent: count, executed: count, executedWithError: count, failed: count, unknown: count },
    failedAfterApproval: count.openapi({ description: 'Of the last three, those that people had allowed.' }),
  })
  .openapi('ToolLine', { description: 'What became of the operations of one tool.' });

const part = z
  .object({
    fromMs: timeMs,
    ...{ opened: count, allowed: count, denied: count, expired: count },
    ...{ repeated: count, failedAfterApproval: count },
  })
  .openapi('RulesPart', { description: 'One part of the window, from `fromMs` to the next one.' });

const rules = z
  .object({
    totals: z.object(requestCounts),
    items: z.array(ruleLine).readonly(),
    idle: texts.openapi({ description: 'Rules of the active policy that opened no request in the window.' }),
    outcomes: z.array(toolLine).readonly(),
    parts: z.array(part).readonly(),
  })
  .openapi('RulesReport', { description: 'What there is to tune.' });

const group = z.object({ group: text, decisions: count, denied: count, p50Ms: durationMs, p95Ms: durationMs });

const reviews = z
  .object({
    ...{ allowed: count, denied: count },
    p50Ms: durationMs.nullable().openapi({ description: 'From the opening of a request to a decision that counts.' }),
    p95Ms: durationMs.nullable(),
    classes: z.array(z.object({ upToMs: durationMs.nullable(), count })).readonly(),
    groups: z.array(group).readonly().openapi({ description: 'Groups of which at least three people decided.' }),
    smallGroups: texts.openapi({ description: 'Groups of which fewer did.' }),
    channels: z.array(z.object({ channel: text, count })).readonly(),
  })
  .openapi('ReviewsReport', { description: 'How long decisions take, and never whose.' });

export const reports = z
  .object({ window: z.enum(REPORT_WINDOWS), fromMs: timeMs, toMs: timeMs, rules, reviews })
  .openapi('Reports');
