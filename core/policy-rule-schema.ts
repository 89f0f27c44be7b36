import { z } from 'zod';
import type { AccessEntry, Condition, Conditions, DeadlineSpec, Rule, RuleScope, SignInNeed, Validity } from './policy';
import {
  choose,
  complain,
  duration,
  listOf,
  matching,
  materialName,
  personName,
  plainName,
  scalar,
  shape,
  subjectName,
  text,
  toolName,
  who,
  whoFields,
} from './policy-fields';
import { AUTHENTICATION_CLASS, DEFAULT_DEADLINE, POLICY_DEFAULTS, POLICY_LIMITS } from './policy-limits';

const operators = shape({
  is: scalar.optional(),
  isNot: scalar.optional(),
  oneOf: listOf(scalar).optional(),
  noneOf: listOf(scalar).optional(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
  above: z.number().optional(),
  below: z.number().optional(),
}).transform((given, context): Condition => {
  const found: Condition[] = [];
  for (const op of ['is', 'isNot'] as const) {
    if (given[op] !== undefined) found.push({ op, value: given[op] });
  }
  for (const op of ['oneOf', 'noneOf'] as const) {
    if (given[op] !== undefined) found.push({ op, values: given[op] });
  }
  for (const op of ['atLeast', 'atMost', 'above', 'below'] as const) {
    if (given[op] !== undefined) found.push({ op, value: given[op] });
  }
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const message = 'must have exactly one of is, isNot, oneOf, noneOf, atLeast, atMost, above, below';
  return complain(context, { message, hint: 'A second condition needs a second material field at the same pointer.' });
});

const conditions: z.ZodType<Conditions> = z.record(materialName, operators).default({});

const anything = z.literal('*');

/** `*`, or what `one` describes. */
function anyOr(one: z.ZodType<string>) {
  return choose<string>((value) => (value === '*' ? anything : one));
}

const groupPattern = text((value) =>
  personName.safeParse(value.replace(/^group:/, '')).success ? null : { message: 'must be "group:" and a group name' },
);

function isGroupPattern(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('group:');
}

/** One entry of `access`. */
export const accessSchema = shape({
  subjects: listOf(anyOr(choose<string>((value) => (isGroupPattern(value) ? groupPattern : subjectName)))),
  agents: listOf(anyOr(subjectName)),
  server: plainName,
  tools: listOf(anyOr(toolName)),
  when: conditions,
}).transform((given): AccessEntry => given);

const wholeServer = z.enum(['destructive', 'all']).transform((kind) => ({ kind }));

const namedTools = shape({ tools: listOf(toolName) }).transform(({ tools }) => ({ kind: 'tools' as const, tools }));

const scope = choose<RuleScope>((value) => (typeof value === 'string' ? wholeServer : namedTools));

const quorum = z.int().min(1).max(POLICY_LIMITS.quorum).default(1);

const uses = z.int().min(1).max(POLICY_LIMITS.uses);

const minutes = z.number().transform((value, context): number => {
  const ms = Math.round(value * 60_000);
  if (ms >= POLICY_LIMITS.window.minMs && ms <= POLICY_LIMITS.window.maxMs) return ms;
  return complain(context, { message: 'must be 1 second to 43200 minutes (30 days)' });
});

const window = shape({
  uses: uses.optional(),
  minutes: minutes.optional(),
  total: z.record(materialName, z.number().positive()).default({}),
}).transform((given, context): Validity => {
  if (given.uses === undefined && given.minutes === undefined) {
    return complain(context, {
      message: 'must have "uses" or "minutes" (or both)',
      hint: 'Or write "validity: once".',
    });
  }
  return { kind: 'window', uses: given.uses ?? null, durationMs: given.minutes ?? null, total: given.total };
});

const once = matching(/^once$/, 'must be once, or a window such as { minutes: 15 }').transform(() => ({
  kind: 'once' as const,
}));

const validity = choose<Validity>((value) => (typeof value === 'string' ? once : window));

const deadline = shape({
  after: duration(POLICY_LIMITS.wait),
  then: z.enum(['expire', 'keepWaiting']).default('expire'),
  remindEvery: duration(POLICY_LIMITS.remind).optional(),
}).transform((given, context): DeadlineSpec => {
  const { after: afterMs, then, remindEvery } = given;
  if (then === 'keepWaiting') return { afterMs, then, remindEveryMs: remindEvery ?? POLICY_DEFAULTS.remindEveryMs };
  if (remindEvery === undefined) return { afterMs, then, remindEveryMs: null };
  const message = 'goes with "then: keepWaiting" only';
  return complain(context, { message, path: ['remindEvery'], hint: 'Remove it, or write "then: keepWaiting".' });
});

const escalation = shape({ after: duration(POLICY_LIMITS.wait), to: who }).transform(({ after, to }) => ({
  afterMs: after,
  to,
}));

const emergency = choose<Rule['emergency']>((value) =>
  typeof value === 'object'
    ? shape({ reviewWithin: duration(POLICY_LIMITS.reviewWithin) }).transform(({ reviewWithin }) => ({
        reviewWithinMs: reviewWithin,
      }))
    : z.boolean().transform((is) => is && { reviewWithinMs: POLICY_DEFAULTS.reviewWithinMs }),
);

const acr = matching(
  AUTHENTICATION_CLASS,
  'must be an authentication class: 1 to 100 visible ASCII characters without spaces, " and \\',
);

const signIn = shape({
  within: duration(POLICY_LIMITS.signInWithin),
  acr: listOf(acr).max(POLICY_LIMITS.signInClasses).optional(),
}).transform((given): SignInNeed => ({ withinMs: given.within, acr: given.acr ?? null }));

/** A rule whose version is not known yet: that takes the rest of the policy. */
export type DraftRule = Omit<Rule, 'version'>;

/** One entry of `rules`. */
export const ruleSchema = shape({
  id: plainName,
  server: plainName,
  scope,
  when: conditions,
  approvers: shape({ ...whoFields, quorum }),
  selfApproval: z.boolean().default(false),
  bind: z.enum(['arguments', 'material', 'tool']).default('arguments'),
  validity: validity.default({ kind: 'once' }),
  escalate: z.array(escalation).max(POLICY_LIMITS.escalations).default([]),
  deadline: deadline.default(DEFAULT_DEADLINE),
  emergency: emergency.default(false),
  signIn: signIn.exactOptional(),
}).transform((given): DraftRule => given);
