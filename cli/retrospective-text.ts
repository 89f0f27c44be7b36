import type { RetrospectiveRecord } from '../ledger/retrospective-queries';
import type { Paint } from './paint';
import { relative, safe, when } from './text';

/** How the review of an emergency stands. */
export function reviewText({ closed, dueAtMs }: RetrospectiveRecord, nowMs: number): string {
  if (closed !== null) return `${closed.finding} by ${safe(closed.by)} ${when(closed.atMs)}`;
  return `${dueAtMs <= nowMs ? 'OVERDUE since' : 'open until'} ${when(dueAtMs)} (${relative(dueAtMs, nowMs)})`;
}

/** An emergency among what is known of its operation. */
export function emergencyText(
  emergency: RetrospectiveRecord,
  { nowMs, paint }: { readonly nowMs: number; readonly paint: Paint },
): string {
  const { rule, ticket, reason, deciders, skipped, closed } = emergency;
  const by = deciders.map(safe).join(', ');
  const note = closed === null ? '' : `: ${safe(closed.note)}`;
  return [
    `${paint.red('EMERGENCY')}  allowed by ${by} under rule ${safe(rule)}, ticket ${safe(ticket)}: ${safe(reason)}`,
    `  skipped ${skipped.map(safe).join(', ')}`,
    `  review  ${reviewText(emergency, nowMs)}${note}`,
  ].join('\n');
}
