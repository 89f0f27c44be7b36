import { z } from 'zod';
import { canonicalJson, checkJsonValue, type JsonObject } from './json';
import { refusal, type Refusal } from './errors';
import { issuesText, strictObject } from './schema-issues';
import { TURN_LIMITS, type CallContext, type ProposedCall, type TurnInput } from './turn';

const name = z
  .string()
  .min(1, 'it is empty')
  .max(TURN_LIMITS.idLength, `it has more than ${TURN_LIMITS.idLength} characters`)
  .refine((text) => !hasControl(text), 'it holds a control character');

/** Control characters would let an id pass for another on a terminal or in a page. */
function hasControl(text: string): boolean {
  return /[\p{Cc}\p{Cs}]/u.test(text);
}

function isStorable(text: string): boolean {
  return !/[\0\p{Cs}]/u.test(text);
}

const CONTEXT_BYTES = 16_384;

function isSmallJson(value: unknown): boolean {
  return checkJsonValue(value, { maxBytes: CONTEXT_BYTES }).ok;
}

const requester = strictObject({
  subject: name,
  agent: name,
  chain: z.array(name).max(16, 'it has more than 16 names').default([]),
});

const call = strictObject({
  id: name,
  server: name,
  tool: name,
  arguments: z.unknown(),
  confirm: z.boolean().exactOptional(),
  note: z
    .string()
    .max(4_000, 'it has more than 4000 characters')
    .refine(isStorable, 'it holds half a character or U+0000')
    .exactOptional(),
  context: strictObject({ session: z.unknown().exactOptional(), checkpoint: z.unknown().exactOptional() })
    .refine(isSmallJson, `it is no JSON of at most ${CONTEXT_BYTES} bytes`)
    .exactOptional(),
});

const turn = strictObject({
  v: z.literal(1),
  turnId: name,
  requester,
  calls: z
    .array(call)
    .min(1, 'it is empty; a turn has at least one call')
    .superRefine(({ length }, context) => {
      if (length > TURN_LIMITS.calls) context.addIssue(`it has ${length}; a turn has at most ${TURN_LIMITS.calls}`);
    }),
  collected: z.boolean().exactOptional(),
});

export type ParsedTurn =
  { readonly ok: true; readonly turn: TurnInput } | { readonly ok: false; readonly refusal: Refusal };

/**
 * Parses a turn strictly: an unknown key is refused, so nothing that a runtime adds can be mistaken for an approval.
 * Errors: TURN_INVALID with the place and the rule. Arguments are not judged here: a call that breaks their rules
 * refuses itself (see `parseArguments`), its siblings go on.
 */
export function parseTurn(input: unknown): ParsedTurn {
  const parsed = turn.safeParse(input);
  if (!parsed.success) return invalid(issuesText(parsed.error, 'the turn'));
  const ids = parsed.data.calls.map((entry) => entry.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    return invalid(`the call id ${JSON.stringify(twice)} is used twice; each call of a turn has its own`);
  return { ok: true, turn: { ...parsed.data, calls: parsed.data.calls.map(unjudged) } };
}

export type ParsedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly detail: string };

/** A call's arguments: a JSON object that keeps every rule of core's JSON, at most 256 KiB of canonical JSON. */
export function parseArguments(value: unknown): ParsedArguments {
  const checked = checkJsonValue(value);
  if (!checked.ok) return { ok: false, detail: checked.detail };
  if (typeof checked.value !== 'object' || checked.value === null || Array.isArray(checked.value)) {
    return { ok: false, detail: 'arguments are a JSON object' };
  }
  const bytes = new TextEncoder().encode(canonicalJson(checked.value)).length;
  if (bytes > TURN_LIMITS.argumentBytes) {
    return { ok: false, detail: `${bytes} bytes of arguments, the limit is ${TURN_LIMITS.argumentBytes}` };
  }
  return { ok: true, value: checked.value as JsonObject };
}

/** The arguments as they came: `parseArguments` judges them, and until then nothing reads them. */
function unjudged({ context, ...entry }: z.infer<typeof call>): ProposedCall {
  const known = context === undefined ? {} : { context: context as CallContext };
  return { ...entry, ...known, arguments: entry.arguments as JsonObject };
}

function invalid(detail: string): ParsedTurn {
  return { ok: false, refusal: refusal('TURN_INVALID', { detail }) };
}
