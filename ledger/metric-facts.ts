import type { JsonObject } from '../core/json';
import { LOOK_UP_ENDS, OPERATION_ENDS, REQUEST_ENDS, type MetricEvent, type RequestPlace } from './metric-event';

/** A fact as far as it is counted. */
export interface FactToCount {
  readonly atMs: number;
  readonly kind: string;
  readonly operationId: string | null;
  readonly body: JsonObject;
}

/** What of a request row never changes. */
export interface KnownRequest extends RequestPlace {
  readonly openedAtMs: number;
  readonly repeated: boolean;
  readonly afterDenial: boolean;
}

export interface KnownOperation {
  readonly server: string;
  readonly tool: string;
  readonly approved: boolean;
}

/** Rows that facts tell of: requests by `requestKey`, operations by their id. */
export interface KnownRows {
  readonly requests: ReadonlyMap<string, KnownRequest>;
  readonly operations: ReadonlyMap<string, KnownOperation>;
}

export function requestKey(operationId: string, revision: number): string {
  return `${operationId}.${revision}`;
}

type OfRequest = (fact: FactToCount, request: KnownRequest) => MetricEvent | null;
type OfOperation = (fact: FactToCount, operation: KnownOperation) => readonly MetricEvent[];

const REQUEST_FACTS: ReadonlyMap<string, OfRequest> = new Map<string, OfRequest>([
  ['request.opened', opened],
  ['request.escalated', ({ atMs }, { rule, server, tool }) => ({ type: 'escalated', atMs, rule, server, tool })],
  ['request.stale', ({ atMs, body }, at) => ({ type: 'stale', atMs, ...placeOf(at), cause: textOf(body, 'cause') })],
  ['decision.recorded', decided],
  ['retrospective.opened', ({ atMs }, at) => ({ type: 'emergency', atMs, ...placeOf(at) })],
  ...REQUEST_ENDS.map((end): [string, OfRequest] => [
    `request.${end}`,
    ({ atMs }, at) => ({ type: 'closed', atMs, ...placeOf(at), end }),
  ]),
]);

const OPERATION_FACTS: ReadonlyMap<string, OfOperation> = new Map<string, OfOperation>([
  ['operation.dispatched', ({ atMs }, { server, tool }) => [{ type: 'sent', atMs, server, tool }]],
  ['operation.absent', ({ atMs }, { server, tool }) => [{ type: 'lookedUp', atMs, server, tool, end: 'absent' }]],
  ['operation.executed', ended],
  ['operation.failed', ended],
  ['operation.unknown', ended],
  ['operation.settled', settled],
  ['operation.reversed', ({ atMs }, { server, tool }) => [{ type: 'reversed', atMs, server, tool }]],
]);

const CALL_FACTS: ReadonlyMap<string, (fact: FactToCount) => MetricEvent> = new Map<
  string,
  (fact: FactToCount) => MetricEvent
>([
  ['decision.notCounted', ({ atMs, body }) => ({ type: 'notCounted', atMs, cause: textOf(body, 'code') })],
  ['review.second', ({ atMs, body }) => ({ type: 'secondReview', atMs, agrees: body['agrees'] === true })],
  ['decision.malformed', ({ atMs }) => ({ type: 'notCounted', atMs, cause: 'malformed' })],
  ['call.refused', ({ atMs, body }) => ({ type: 'callRefused', atMs, cause: textOf(body, 'code') })],
  [
    'call.allowed',
    ({ atMs, body }) => ({ type: 'notAsked', atMs, cause: body['grant'] === undefined ? 'noRule' : 'grant' }),
  ],
]);

/** The kinds of facts that are counted. */
export const METRIC_KINDS: readonly string[] = [
  ...REQUEST_FACTS.keys(),
  ...OPERATION_FACTS.keys(),
  ...CALL_FACTS.keys(),
];

/** What one fact adds; nothing where a row is missing that it tells of. */
export function eventsOf(fact: FactToCount, { requests, operations }: KnownRows): readonly MetricEvent[] {
  const ofCall = CALL_FACTS.get(fact.kind);
  if (ofCall !== undefined) return [ofCall(fact)];
  const request = requests.get(requestKey(fact.operationId ?? '', Number(fact.body['revision'])));
  const event = request === undefined ? null : REQUEST_FACTS.get(fact.kind)?.(fact, request);
  if (event) return [event];
  const operation = operations.get(fact.operationId ?? '');
  return operation === undefined ? [] : (OPERATION_FACTS.get(fact.kind)?.(fact, operation) ?? []);
}

function opened({ atMs, body }: FactToCount, request: KnownRequest): MetricEvent {
  const { repeated, afterDenial } = request;
  return { type: 'opened', atMs, ...placeOf(request), cause: textOf(body, 'cause'), repeated, afterDenial };
}

function decided({ atMs, body }: FactToCount, request: KnownRequest): MetricEvent {
  const answer = body['answer'] === 'allow' ? 'allow' : 'deny';
  const [channel, reviewer] = [textOf(body, 'channel'), textOf(body, 'reviewer')];
  // Clocks of two processes may differ, and nobody decides before the question.
  const waitMs = Math.max(0, atMs - request.openedAtMs);
  return { type: 'decided', atMs, ...placeOf(request), answer, channel, reviewer, waitMs };
}

function ended({ atMs, kind, body }: FactToCount, operation: KnownOperation): readonly MetricEvent[] {
  const { server, tool, approved } = operation;
  const outcome = kind.slice('operation.'.length);
  const end = OPERATION_ENDS.find((each) => each === (body['isError'] === true ? `${outcome}WithError` : outcome));
  const found = body['evidence'] === 'lookUp' ? LOOK_UP_ENDS.find((each) => each === outcome) : undefined;
  return [
    ...(end === undefined ? [] : [{ type: 'ended', atMs, server, tool, end, approved } as const]),
    ...(found === undefined ? [] : [{ type: 'lookedUp', atMs, server, tool, end: found } as const]),
  ];
}

function settled({ atMs, body }: FactToCount, { server, tool }: KnownOperation): readonly MetricEvent[] {
  return [{ type: 'settled', atMs, server, tool, end: body['outcome'] === 'executed' ? 'executed' : 'failed' }];
}

function placeOf({ rule, server, tool }: RequestPlace): RequestPlace {
  return { rule, server, tool };
}

function textOf(body: JsonObject, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : 'other';
}
