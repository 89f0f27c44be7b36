import type { Gauges } from '../../ledger/metrics';
import type { Family, Sample } from './prometheus-text';

/** How things stand now, as families. */
export function gaugeFamilies(gauges: Gauges, nowMs: number): readonly Family[] {
  return [...requestFamilies(gauges, nowMs), ...operationFamilies(gauges), ...recordFamilies(gauges, nowMs)];
}

function requestFamilies({ pending }: Gauges, nowMs: number): readonly Family[] {
  const samples = pending.map(({ rule, server, tool, count }): Sample => {
    return { labels: { rule: rule ?? '', server, tool }, value: count };
  });
  const oldestAtMs = Math.min(...pending.map((row) => row.oldestAtMs), nowMs);
  return [
    gauge('holdpoint_requests_pending', 'Approval requests that wait for people now.', samples),
    gauge(
      'holdpoint_requests_pending_oldest_seconds',
      'Age of the oldest approval request that waits, in seconds; 0 where none does.',
      [{ labels: {}, value: secondsSince(oldestAtMs, nowMs) }],
    ),
  ];
}

function operationFamilies({ operations, grants }: Gauges): readonly Family[] {
  const samples = grants.map(({ server, tool, count }): Sample => ({ labels: { server, tool }, value: count }));
  return [
    gauge('holdpoint_operations_in_flight', 'Operations that were sent and whose outcome is not recorded yet.', [
      { labels: {}, value: operations.dispatched },
    ]),
    gauge('holdpoint_operations_unknown', 'Operations whose unknown outcome waits for a person to settle it.', [
      { labels: {}, value: operations.unknown },
    ]),
    gauge('holdpoint_grants_live', 'Grants that still permit something under the active policy.', samples),
  ];
}

function recordFamilies(
  { retrospectives, deliveries, deliveryResults, auditRecords }: Gauges,
  nowMs: number,
): readonly Family[] {
  const { waiting, delivered, givenUp, dueAtMs } = deliveries;
  const counts = Object.entries({ waiting, delivered, givenUp });
  return [
    gauge('holdpoint_retrospectives_open', 'Emergencies whose review is open.', [
      { labels: {}, value: retrospectives.open },
    ]),
    gauge(
      'holdpoint_retrospectives_overdue',
      'Emergencies whose review is overdue; until it is closed, the next is refused.',
      [{ labels: {}, value: retrospectives.overdue }],
    ),
    gauge(
      'holdpoint_deliveries',
      'Deliveries of events that the outbox still holds: a week of delivered ones, a month of others.',
      counts.map(([outcome, value]) => ({ labels: { outcome }, value })),
    ),
    resultsFamily(deliveryResults),
    gauge(
      'holdpoint_delivery_overdue_seconds',
      'How long the delivery that has been due the longest is overdue, in seconds; 0 where none is.',
      [{ labels: {}, value: dueAtMs === null ? 0 : secondsSince(dueAtMs, nowMs) }],
    ),
    {
      name: 'holdpoint_audit_records_total',
      help: 'Records of the audit chain.',
      type: 'counter',
      samples: [{ labels: {}, value: auditRecords }],
    },
  ];
}

function resultsFamily(results: Gauges['deliveryResults']): Family {
  return {
    name: 'holdpoint_delivery_results_total',
    help: 'Attempts to deliver a notice or webhook, by kind of channel: delivered, failed and tried again, or given up.',
    type: 'counter',
    samples: results.flatMap(({ channel, ...counts }) =>
      Object.entries(counts).map(([outcome, value]): Sample => ({ labels: { channel, outcome }, value })),
    ),
  };
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples };
}

function secondsSince(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs) / 1_000;
}
