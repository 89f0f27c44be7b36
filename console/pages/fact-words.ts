import type { JsonObject, JsonValue } from '../../core/json';
import { isJsonArray, isJsonObject } from '../../core/json-value';
import type { Fact } from '../../ledger/queries';
import { when } from './words';

/** What each kind of fact says; a kind that is not here is shown by its own name. */
const KINDS: Readonly<Record<string, string>> = {
  'call.proposed': 'The agent proposed the call',
  'call.allowed': 'The call was allowed without asking',
  'call.refused': 'The call was refused',
  'call.withdrawn': 'The call was withdrawn',
  'request.opened': 'People were asked',
  'request.escalated': 'The request was escalated',
  'request.reminded': 'The people asked were reminded',
  'request.stale': 'A re-check found it changed, so the approval no longer held',
  'request.allowed': 'The request was allowed',
  'request.denied': 'The request was denied',
  'request.expired': 'The deadline passed: the request expired, nothing was executed',
  'request.withdrawn': 'The request was withdrawn, nothing was executed',
  'request.refused': 'The request was refused, nothing was executed',
  'decision.recorded': 'A decision was recorded and counts',
  'decision.repeated': 'The same decision came again',
  'decision.notCounted': 'An answer came that does not count',
  'grant.issued': 'The allow became a grant',
  'grant.used': 'A call used the grant',
  'grant.revoked': 'The grant was revoked',
  'retrospective.opened': 'It was an emergency: who was skipped was told, and its review was opened',
  'retrospective.closed': 'The review of the emergency was closed',
  'review.second': 'Somebody who did not know the decision looked at it again',
  'operation.reversed': 'The effect was reported as undone',
  'operation.dispatched': 'The call was re-checked and sent',
  'operation.dispatchedAgain': 'The call was sent again, proven absent before',
  'operation.absent': 'A look-up proved that an attempt had no effect',
  'operation.executed': 'The outcome was recorded: executed',
  'operation.failed': 'The outcome was recorded: failed, nothing was done',
  'operation.unknown': 'The outcome is not known',
  'operation.contradicted': 'Proof of the effect came after it was believed absent',
  'operation.settlement': 'A person stated the outcome',
  'operation.settled': 'The stated outcome was recorded',
  'result.delivered': 'The result was handed over',
};

/** The same of an allow under an emergency rule. */
const EMERGENCY_KINDS: Readonly<Record<string, string>> = {
  'decision.recorded': 'An allow under an emergency rule was recorded and counts',
  'decision.notCounted': 'An answer under an emergency rule came that does not count',
};

/** A fact as a sentence of ours; null where its kind is not known here. */
export function factWords({ kind, body }: Pick<Fact, 'kind' | 'body'>): string | null {
  const kinds = emergencyOf(body) !== null && Object.hasOwn(EMERGENCY_KINDS, kind) ? EMERGENCY_KINDS : KINDS;
  return Object.hasOwn(kinds, kind) ? (kinds[kind] ?? null) : null;
}

function emergencyOf(body: JsonObject): JsonObject | null {
  const emergency = Object.hasOwn(body, 'emergency') ? body['emergency'] : null;
  return emergency !== undefined && emergency !== null && isJsonObject(emergency) ? emergency : null;
}

/** Members of a fact that say most to a reader, in this order; the whole body is one key away. */
const TOLD = [
  'reviewer',
  'answer',
  'by',
  'finding',
  'ticket',
  'outcome',
  'evidence',
  'code',
  'cause',
  'because',
  'reason',
  'note',
  'detail',
];

/** What stands in a fact for a reader; names are ours, the values come from outside. */
export function factDetails({ kind, body }: Pick<Fact, 'kind' | 'body'>): readonly (readonly [string, string])[] {
  const told = TOLD.flatMap((name) => detail(name, Object.hasOwn(body, name) ? body[name] : undefined));
  const emergency = emergencyOf(body);
  if (emergency !== null) return [...told, ...['rule', 'ticket'].flatMap((name) => detail(name, emergency[name]))];
  return kind === 'retrospective.opened' ? [...told, ...openedDetails(body)] : told;
}

type Details = readonly (readonly [string, string])[];

function detail(name: string, value: JsonValue | undefined): Details {
  if (typeof value !== 'string' || value === '') return [];
  return [[name, name === 'finding' && value === 'notJustified' ? 'not justified' : value]];
}

function openedDetails({ rule, skipped, dueAtMs }: JsonObject): Details {
  const names = skipped !== undefined && isJsonArray(skipped) ? skipped.filter((name) => typeof name === 'string') : [];
  return [
    ...detail('rule', rule),
    ...detail('skipped', names.join(', ')),
    ...detail('to be reviewed until', typeof dueAtMs === 'number' ? when(dueAtMs) : ''),
  ];
}
