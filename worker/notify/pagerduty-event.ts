import { cut } from '../../core/display';
import type { JsonObject } from '../../core/json';
import { FOOTER, type Notice } from './notice';
import { textOf } from './piece';

const LONGEST_SUMMARY = 1_024;

type Severity = 'critical' | 'error' | 'warning' | 'info';

const SEVERITIES: Readonly<Record<Notice['kind'], Severity>> = {
  opened: 'warning',
  escalated: 'error',
  reminder: 'error',
  unknown: 'critical',
  emergency: 'critical',
  reviewDue: 'error',
  closed: 'info',
  outcome: 'info',
  found: 'info',
};

const CLASSES: Readonly<Partial<Record<Notice['kind'], string>>> = {
  unknown: 'unknown outcome',
  emergency: 'emergency',
  reviewDue: 'emergency',
};

/** An event of the PagerDuty Events API v2. One alert for each request revision, which the end of it resolves. */
export function pagerDutyEvent(notice: Notice, routingKey: string): JsonObject {
  const { kind, headline, what, who, lines, link } = notice;
  const key = { routing_key: routingKey, dedup_key: dedupKey(notice) };
  if (kind === 'closed' || kind === 'found') return { ...key, event_action: 'resolve' };
  const summary = cut(`${headline}: ${textOf(what)}, asked by ${textOf(who)}`, LONGEST_SUMMARY);
  const details = lines.map(({ label, text }): [string, string] => [textOf(label), textOf(text)]);
  return {
    ...key,
    event_action: 'trigger',
    client: 'Holdpoint',
    ...(link !== null && { client_url: link.url, links: [{ href: link.url, text: link.text }] }),
    payload: {
      summary,
      severity: SEVERITIES[kind],
      source: 'holdpoint',
      component: textOf(what),
      class: CLASSES[kind] ?? 'approval request',
      custom_details: { ...Object.fromEntries(details), note: FOOTER },
    },
  };
}

function dedupKey({ kind, operationId, revision }: Notice): string {
  const isOfOperation = kind === 'unknown' || kind === 'found' || revision === null;
  if (kind === 'emergency' || kind === 'reviewDue') return `${operationId}:${revision ?? 0}:emergency`;
  return `${operationId}:${isOfOperation ? 'unknown' : revision}`;
}
