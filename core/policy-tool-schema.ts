import { z } from 'zod';
import {
  anyValue,
  argumentName,
  caption,
  choose,
  complain,
  duration,
  innerPointer,
  materialName,
  pointer,
  shape,
  toolName,
} from './policy-fields';
import { POLICY_DEFAULTS, POLICY_LIMITS } from './policy-limits';
import type { ArgumentSource, OutcomeContract, ToolEntry, ToolRead } from './policy';
import { headerMap } from './policy-transport-schema';
import { databaseText, operationUrl } from './policy-secret';
import { lookUpQuery } from './policy-sql';

const filled = shape({ fill: z.literal('operationId') }).transform(() => ({ kind: 'operationId' as const }));

const literal = shape({ value: anyValue }).transform(({ value }) => ({ kind: 'literal' as const, value }));

const pointed = shape({ at: innerPointer }).transform(({ at }) => ({ kind: 'pointer' as const, at }));

const source = choose<ArgumentSource>((value) => {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.includes('fill')) return filled;
  return keys.includes('value') ? literal : pointed;
});

const sources = z.record(argumentName, source);

const readFields = { tool: toolName, arguments: sources.optional() };

const toolRead = shape(readFields).transform(toRead);

function toRead(given: { tool: string; arguments?: ToolRead['arguments'] | undefined }): ToolRead {
  return { tool: given.tool, arguments: given.arguments ?? null };
}

const materialSpec = shape({
  at: innerPointer,
  as: z.enum(['text', 'number', 'amount', 'boolean', 'sql', 'json', 'timestamp']),
  from: z.enum(['arguments', 'state']).default('arguments'),
});

const outcome = shape({
  tool: toolName.optional(),
  arguments: sources.optional(),
  http: shape({ url: operationUrl, headers: headerMap }).optional(),
  sql: shape({ database: databaseText, query: lookUpQuery }).optional(),
  executed: shape({ at: pointer, equals: anyValue }),
  authoritative: z.boolean().default(false),
  settleAfter: duration(POLICY_LIMITS.settleAfter).default(POLICY_DEFAULTS.settleAfterMs),
  budget: duration(POLICY_LIMITS.lookUpBudget).default(POLICY_DEFAULTS.lookUpBudgetMs),
}).transform((given, context): OutcomeContract => {
  const { tool, http, sql } = given;
  const found: OutcomeContract['source'][] = [];
  if (tool !== undefined) found.push({ kind: 'tool', read: toRead({ ...given, tool }) });
  if (http !== undefined) found.push({ kind: 'http', ...http });
  if (sql !== undefined) found.push({ kind: 'sql', ...sql });
  const [only] = found;
  if (only === undefined || found.length > 1 || (given.arguments !== undefined && tool === undefined)) {
    return complain(context, {
      message: 'must say in exactly one way how to look the operation up',
      hint: 'Write either "tool" (with "arguments"), or "http", or "sql".',
    });
  }
  return {
    source: only,
    executed: given.executed,
    authoritative: given.authoritative,
    settleAfterMs: given.settleAfter,
    budgetMs: given.budget,
  };
});

/** One entry of `servers.<server>.tools`, without its name. */
export const toolSchema = shape({
  enabled: z.boolean().default(true),
  arguments: z.record(argumentName, filled).default({}),
  material: z.record(materialName, materialSpec).default({}),
  version: shape({ ...readFields, read: pointer }).optional(),
  preview: shape({ ...readFields, show: z.enum(['diff', 'text', 'json']).default('text') }).optional(),
  state: toolRead.optional(),
  outcome: outcome.optional(),
  idempotent: z.boolean().default(false),
  classification: caption.optional(),
  reversible: z.enum(['yes', 'with-effort', 'no']).optional(),
  expected: caption.optional(),
  secrets: z.array(innerPointer).default([]),
  timeout: duration(POLICY_LIMITS.toolTimeout).default(POLICY_DEFAULTS.toolTimeoutMs),
  destructive: z.boolean().optional(),
}).transform((given): Omit<ToolEntry, 'name'> => ({
  enabled: given.enabled,
  fill: given.arguments,
  material: Object.entries(given.material).map(([name, spec]) => ({ name, ...spec })),
  version: given.version === undefined ? null : { ...toRead(given.version), read: given.version.read },
  preview: given.preview === undefined ? null : { ...toRead(given.preview), show: given.preview.show },
  state: given.state ?? null,
  outcome: given.outcome ?? null,
  idempotent: given.idempotent,
  classification: given.classification ?? null,
  reversible: given.reversible ?? null,
  expected: given.expected ?? null,
  secrets: given.secrets,
  timeoutMs: given.timeout,
  destructive: given.destructive ?? null,
}));
