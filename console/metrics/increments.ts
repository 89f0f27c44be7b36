import type { MetricEvent, RequestPlace } from '../../ledger/metric-event';
import { LOOK_UP_ENDS, OPERATION_ENDS, REQUEST_ENDS } from '../../ledger/metric-event';
import type { CounterName } from './families';
import type { Labels } from './prometheus-text';

/** What an event adds to one counter. */
export interface Increment {
  readonly name: CounterName;
  readonly labels: Labels;
  readonly by: 0 | 1;
}

/** What an event adds to each counter; 0 makes one appear: a counter that came with its first 1 hides it from `rate`. */
export function incrementsOf(event: MetricEvent): readonly Increment[] {
  switch (event.type) {
    case 'opened':
      return opened(event);
    case 'closed':
      return [one('holdpoint_requests_closed_total', { ...placeOf(event), outcome: event.end })];
    case 'escalated':
      return [one('holdpoint_requests_escalated_total', placeOf(event))];
    case 'stale':
      return [one('holdpoint_requests_stale_total', { ...placeOf(event), cause: event.cause })];
    case 'decided': {
      const { answer, channel } = event;
      return [one('holdpoint_decisions_total', { ...placeOf(event), answer, channel })];
    }
    case 'emergency':
      return [one('holdpoint_emergencies_total', placeOf(event))];
    case 'secondReview':
      return [one('holdpoint_second_reviews_total', { outcome: event.agrees ? 'agrees' : 'differs' })];
    case 'notCounted':
      return [one('holdpoint_decisions_not_counted_total', { cause: event.cause })];
    case 'callRefused':
      return [one('holdpoint_calls_refused_total', { cause: event.cause })];
    case 'notAsked':
      return [one('holdpoint_calls_not_asked_total', { cause: event.cause })];
    default:
      return ofOperation(event);
  }
}

type OfType<Type extends MetricEvent['type']> = Extract<MetricEvent, { readonly type: Type }>;

function ofOperation(event: OfType<'sent' | 'ended' | 'settled' | 'lookedUp' | 'reversed'>): readonly Increment[] {
  const at = { server: event.server, tool: event.tool };
  switch (event.type) {
    case 'sent':
      return [one('holdpoint_operations_sent_total', at), ...outcomesOf(at)];
    case 'ended': {
      const labels = { ...at, outcome: event.end };
      const isFailure = event.approved && event.end !== 'executed';
      return [
        one('holdpoint_operations_total', labels),
        ...(isFailure ? [one('holdpoint_failures_after_approval_total', labels)] : []),
      ];
    }
    case 'reversed':
      return [one('holdpoint_reversals_total', at)];
    case 'settled':
      return [one('holdpoint_settlements_total', { ...at, outcome: event.end })];
    case 'lookedUp':
      return [one('holdpoint_look_ups_total', { ...at, outcome: event.end })];
  }
}

function opened(event: OfType<'opened'>): readonly Increment[] {
  const at = placeOf(event);
  const ends = REQUEST_ENDS.map((outcome) => none('holdpoint_requests_closed_total', { ...at, outcome }));
  return [
    one('holdpoint_requests_opened_total', { ...at, cause: event.cause }),
    (event.repeated ? one : none)('holdpoint_requests_repeated_total', at),
    (event.afterDenial ? one : none)('holdpoint_requests_after_denial_total', at),
    none('holdpoint_requests_escalated_total', at),
    none('holdpoint_emergencies_total', at),
    ...['agrees', 'differs'].map((outcome) => none('holdpoint_second_reviews_total', { outcome })),
    ...ends,
    ...failuresOf(event),
  ];
}

function outcomesOf(at: Labels): readonly Increment[] {
  return [
    none('holdpoint_reversals_total', at),
    ...OPERATION_ENDS.map((outcome) => none('holdpoint_operations_total', { ...at, outcome })),
    ...LOOK_UP_ENDS.map((outcome) => none('holdpoint_look_ups_total', { ...at, outcome })),
  ];
}

function failuresOf({ server, tool }: RequestPlace): readonly Increment[] {
  const failures = OPERATION_ENDS.filter((end) => end !== 'executed');
  return failures.map((outcome) => none('holdpoint_failures_after_approval_total', { server, tool, outcome }));
}

function one(name: CounterName, labels: Labels): Increment {
  return { name, labels, by: 1 };
}

function none(name: CounterName, labels: Labels): Increment {
  return { name, labels, by: 0 };
}

/** A rule that is not there is an empty label, which to Prometheus is none. */
function placeOf({ rule, server, tool }: RequestPlace): Labels {
  return { rule: rule ?? '', server, tool };
}
