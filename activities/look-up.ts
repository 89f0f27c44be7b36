import { atPointer, canonicalJson, isJsonArray, isJsonObject, parseJsonPointer } from '../core/json';
import type { JsonValue } from '../core/json';
import type { OutcomeContract } from '../core/policy';
import { unreachable } from '../core/unreachable';
import { queryForeign } from '../ledger/foreign-query';
import { connectionFault } from './http-exchange';
import { getJson } from './http-json';
import { readTool } from './read-tool';
import type { ReadContext } from './read-tool';
import { resolveRecord, resolveText } from './secret-references';
import type { ResolveSecret } from './secret-references';

/** What a look-up says of one operation. */
export type FoundOutcome =
  /** The effect is there; `result` is what the look-up answered. */
  | { readonly kind: 'executed'; readonly result: JsonValue | null }
  /** Proof that the effect is not there. */
  | { readonly kind: 'absent' }
  /** The effect does not show, which proves nothing: the look-up is not authoritative. */
  | { readonly kind: 'notYet'; readonly detail: string }
  /** No answer that counts. */
  | { readonly kind: 'unreachable'; readonly detail: string };

export interface LookUpContext extends ReadContext {
  readonly resolveSecret: ResolveSecret;
}

/** `undefined`: the source answered that it knows nothing of the operation. */
type Answer =
  { readonly ok: true; readonly value: JsonValue | undefined } | { readonly ok: false; readonly detail: string };

/** Asks the source of a tool's contract how an operation ended. Only reads, so it may be asked at any time, and twice. */
export async function askOutcome(contract: OutcomeContract, context: LookUpContext): Promise<FoundOutcome> {
  const answer = await ask(contract.source, context);
  if (!answer.ok) return { kind: 'unreachable', detail: answer.detail };
  const shown = answer.value === undefined ? 'no' : showsEffect(answer.value, contract.executed);
  switch (shown) {
    case 'yes':
      return { kind: 'executed', result: answer.value ?? null };
    case 'no':
      return contract.authoritative
        ? { kind: 'absent' }
        : { kind: 'notYet', detail: 'the look-up shows no effect yet' };
    case 'unclear':
      return { kind: 'unreachable', detail: `the answer of the look-up has nothing at ${contract.executed.at}` };
  }
}

async function ask(source: OutcomeContract['source'], context: LookUpContext): Promise<Answer> {
  switch (source.kind) {
    case 'tool':
      return readTool(source.read, context);
    case 'http':
      return askHttp(source, context);
    case 'sql':
      return askDatabase(source, context);
    default:
      return unreachable(source);
  }
}

async function askHttp(
  { url, headers }: OutcomeContract['source'] & { readonly kind: 'http' },
  { operationId, resolveSecret }: LookUpContext,
): Promise<Answer> {
  const resolved = resolveRecord(headers, resolveSecret);
  if (!resolved.ok) return { ok: false, detail: notSet(resolved.missing) };
  const answer = await getJson(url.replaceAll('{operationId}', encodeURIComponent(operationId)), resolved.value);
  if (!answer.ok) return answer;
  // A 404 in JSON is the application's own; one in HTML is a proxy's or a wrong path's, and no answer at all.
  return { ok: true, value: answer.status === 404 ? undefined : answer.value };
}

async function askDatabase(
  { database, query }: OutcomeContract['source'] & { readonly kind: 'sql' },
  { operationId, resolveSecret }: LookUpContext,
): Promise<Answer> {
  const resolved = resolveText(database, resolveSecret);
  if (!resolved.ok) return { ok: false, detail: notSet(resolved.missing) };
  try {
    const rows = await queryForeign(resolved.value, query, operationId);
    if (!rows.ok) return rows;
    if (!isJsonArray(rows.value) || rows.value.length > 1) {
      return { ok: false, detail: 'the look-up found more than one row for the operation' };
    }
    return { ok: true, value: rows.value[0] };
  } catch (error) {
    return { ok: false, detail: `the database: ${connectionFault(error)}` };
  }
}

function notSet(name: string): string {
  return `\${${name}} is not set; set it where the worker runs and start it again`;
}

/**
 * Whether an answer shows the effect. Where only the last member of the pointer is missing, or stands under a null, the
 * answer says that there is none; where the way there is missing, the answer is of another form and says nothing.
 */
function showsEffect(value: JsonValue, { at, equals }: OutcomeContract['executed']): 'yes' | 'no' | 'unclear' {
  const found = atPointer(value, at);
  if (found.found) return canonicalJson(found.value) === canonicalJson(equals) ? 'yes' : 'no';
  const pointer = parseJsonPointer(at);
  if (!pointer.ok) return 'unclear';
  let place: JsonValue = value;
  for (const token of pointer.tokens.slice(0, -1)) {
    const next = atPointer(place, `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    if (!next.found) return 'unclear';
    if (next.value === null) return 'no';
    place = next.value;
  }
  return isJsonObject(place) || isJsonArray(place) ? 'no' : 'unclear';
}
