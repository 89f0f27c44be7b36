import { z } from '@hono/zod-openapi';
import {
  rule,
  digest,
  durationMs,
  json,
  jsonObject,
  next,
  operationId,
  revision,
  text,
  texts,
  timeMs,
} from './schema-parts';

export const REQUEST_STATES = [
  'pending',
  'allowed',
  'denied',
  'expired',
  'withdrawn',
  'superseded',
  'refused',
] as const;

const requester = z
  .object({ subject: text, agent: text, chain: texts })
  .openapi('Requester', { example: { subject: 'user:amira', agent: 'support-bot', chain: [] } });

const group = { groups: texts, people: texts };

const step = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('confirm'), subject: text }),
    z.object({
      kind: z.literal('rule'),
      approvers: z.object({ ...group, quorum: z.int() }),
      selfApproval: z.boolean(),
    }),
  ])
  .openapi('Step', { description: 'Who has to allow: the requester themselves, or a rule’s approvers.' });

const validity = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('once') }),
    z.object({
      kind: z.literal('window'),
      uses: z.int().nullable(),
      durationMs: durationMs.nullable(),
      total: z.record(z.string(), z.number()),
    }),
  ])
  .openapi('Validity', { description: 'What an allow would permit: this one operation, or a window.' });

export const ask = z
  .object({
    rule: rule.nullable(),
    matched: z.array(z.object({ id: text, version: text, scope: z.enum(['tools', 'destructive', 'all']) })).readonly(),
    steps: z.array(step).readonly(),
    bind: z.enum(['arguments', 'material', 'tool']),
    validity,
    escalate: z.array(z.object({ afterMs: durationMs, to: z.object(group) })).readonly(),
    deadline: z.object({
      afterMs: durationMs,
      then: z.enum(['expire', 'keepWaiting']),
      remindEveryMs: durationMs.nullable(),
    }),
    emergency: z.boolean(),
    signIn: z
      .object({ withinMs: durationMs, acr: texts.nullable() })
      .optional()
      .openapi({ description: 'What an allow has to prove of its reviewer’s sign-in; null takes any class.' }),
  })
  .openapi('Ask', { description: 'Who is asked, under which rule, and what an allow would permit.' });

const material = z
  .object({
    name: text,
    as: z.enum(['text', 'number', 'amount', 'boolean', 'sql', 'json', 'timestamp']),
    from: z.enum(['arguments', 'state']),
    at: text,
    found: z.boolean(),
    value: json,
  })
  .openapi('MaterialField', { description: 'A secret’s value is a keyed token.' });

const similar = z
  .object({ operationId: text.nullable(), atMs: timeMs, requester: text.nullable(), state: text })
  .extend({ isError: z.literal(true).optional(), reversed: z.literal(true).optional() })
  .openapi('SimilarOperation');

export const request = z
  .object({
    v: z.literal(1),
    operationId,
    revision,
    shortId: text.openapi({ example: 'K7P3M9QX' }),
    ...{ turnId: text, callId: text, workflowId: text },
    requester,
    ...{ server: text, tool: text, toolTitle: text.nullable() },
    material: z.array(material).readonly(),
    arguments: jsonObject.openapi({ description: 'Every argument; secrets are keyed tokens.' }),
    argumentsDigest: text,
    bindingDigest: digest.openapi({ description: 'What a decision names as "digest".' }),
    ...{ toolDigest: text, serverIdentity: text, resourceVersion: json, previousResourceVersion: json },
    policyVersion: z.int(),
    ask,
    cause: z.enum([
      'first',
      'argumentsChanged',
      'resourceChanged',
      'definitionChanged',
      'ruleChanged',
      'serverChanged',
      'reviewerChanged',
      'grantUnusable',
    ]),
    ...{ openedAtMs: timeMs, deadlineAtMs: timeMs },
    ...{ classification: text.nullable(), reversible: text.nullable(), expected: text.nullable() },
    preview: z.object({ show: z.enum(['diff', 'text', 'json']), value: json }).nullable(),
    state: json,
    similar: z.array(similar).readonly(),
    note: text.nullable().openapi({ description: 'The model’s own words: never a fact.' }),
    context: z.object({ session: json.optional(), checkpoint: json.optional() }).optional(),
  })
  .openapi('ApprovalRequest', { description: 'Everything that a reviewer is asked about, as it was asked.' });

const standing = z
  .object({
    state: z.enum(REQUEST_STATES),
    level: z.int().openapi({ description: 'Escalation levels reached: 0 is none.' }),
    dueAtMs: timeMs.nullable(),
    closedAtMs: timeMs.nullable(),
    closedReason: text.nullable(),
  })
  .openapi('Standing', { description: 'Where the request stands now.' });

export const requestRecord = z.object({ request, standing }).openapi('RequestRecord');

export const requestPage = z
  .object({ items: z.array(requestRecord).readonly(), next, nowMs: timeMs })
  .openapi('RequestPage', { description: '"nowMs" is the ledger’s clock, by which deadlines count.' });
