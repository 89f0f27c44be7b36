import type { OutboxedEvent } from '../../ledger/outbox';
import { unreachable } from '../../core/unreachable';
import { eventsOf, type Lane } from './lane';
import { leadsEmergency, waitMs } from './route';
import { readStored, type StoredEvent } from './stored-event';

const CLOSING = ['denied', 'expired', 'withdrawn', 'refused'].map((state) => `dev.holdpoint.request.${state}`);
const FOUND = ['executed', 'failed', 'settled'].map((state) => `dev.holdpoint.operation.${state}`);
const EMERGENCY = 'dev.holdpoint.emergency.allowed';
const UNKNOWN = 'dev.holdpoint.operation.unknown';

/** The types of events that a lane may have to tell of. */
export function typesOf(lane: Pick<Lane, 'purpose' | 'settings' | 'routes'>): ReadonlySet<string> {
  if (lane.purpose === 'outcome') return new Set([...CLOSING, ...FOUND, UNKNOWN]);
  const events = eventsOf(lane);
  if (lane.purpose === 'reminder')
    return new Set([
      ...(events.has('reminder') ? ['dev.holdpoint.request.opened'] : []),
      ...(events.has('emergency') ? [EMERGENCY] : []),
    ]);
  return new Set([
    ...(events.has('opened') ? ['dev.holdpoint.request.opened'] : []),
    ...(events.has('escalated') ? ['dev.holdpoint.request.escalated'] : []),
    ...(events.has('reminder') ? ['dev.holdpoint.request.reminded'] : []),
    ...(events.has('closed') ? ['dev.holdpoint.request.allowed', ...CLOSING] : []),
    ...(events.has('emergency') ? [EMERGENCY] : []),
    ...(events.has('unknown') ? [UNKNOWN, ...FOUND] : []),
  ]);
}

/** When a lane has to tell of an event, as far as the event itself says; null: never. */
export function dueAtMs(lane: Lane, event: OutboxedEvent): number | null {
  const stored = readStored(event);
  if (stored === null) return null;
  switch (lane.purpose) {
    case 'notice':
      return noticeAtMs(lane, stored, event.createdAtMs);
    case 'reminder':
      return reminderAtMs(lane, stored, event.createdAtMs);
    case 'outcome':
      return event.createdAtMs;
    default:
      return unreachable(lane.purpose);
  }
}

function noticeAtMs({ routes }: Lane, stored: StoredEvent, createdAtMs: number): number | null {
  if (stored.kind === 'closes') return createdAtMs;
  if (stored.kind === 'emergency') return leadsEmergency(routes, stored) ? createdAtMs : null;
  const routed =
    stored.kind === 'asks'
      ? { event: stored.event, server: stored.server, rule: stored.rule, level: stored.level ?? undefined }
      : { event: 'unknown' as const, server: stored.server, rule: undefined, level: undefined };
  const wait = waitMs(routes, routed);
  if (wait === null) return null;
  const isFound = stored.kind === 'ends' && stored.state !== 'unknown';
  return createdAtMs + (isFound ? 0 : wait);
}

/** What has no more time than that in all was told of just now. */
function reminderAtMs({ routes, reminderBeforeMs }: Lane, stored: StoredEvent, createdAtMs: number): number | null {
  if (stored.kind === 'emergency') {
    const atMs = stored.emergency.dueAtMs - reminderBeforeMs;
    return leadsEmergency(routes, stored) && atMs > createdAtMs ? atMs : null;
  }
  if (stored.kind !== 'asks') return null;
  const { server, rule, openedAtMs, deadlineAtMs } = stored;
  const atMs = deadlineAtMs - reminderBeforeMs;
  const isRouted = waitMs(routes, { event: 'reminder', server, rule, level: undefined }) !== null;
  return isRouted && atMs > openedAtMs ? atMs : null;
}
