import type { Log } from '../../ledger/log';
import type { Store } from '../../ledger/transaction';
import type { ChannelSettings } from './channel-settings';
import { ASKING, type NoticeEvent, type Route } from './route';

/**
 * What one row of deliveries cannot hold twice: an event may be told at once, again shortly before its deadline or the
 * time by which it has to be reviewed, and to its requester, so each channel has up to three lanes.
 */
export type Purpose = 'notice' | 'reminder' | 'outcome';

/** One way of the outbox to one channel. */
export interface Lane {
  readonly purpose: Purpose;
  readonly channel: string;
  readonly settings: ChannelSettings;
  /** Those that lead to this channel. */
  readonly routes: readonly Route[];
  readonly reminderBeforeMs: number;
  readonly store: Store;
  readonly log: Log;
}

/** The name under which a lane's state is kept; a colon is in no name of a webhook. */
export function laneId(channel: string, purpose: Purpose): string {
  return purpose === 'notice' ? `notify:${channel}` : `notify:${channel}:${purpose}`;
}

/** Events that some route leads to a channel. PagerDuty hears of the end of whatever it was told of. */
export function eventsOf({ settings, routes }: Pick<Lane, 'settings' | 'routes'>): ReadonlySet<NoticeEvent> {
  const events = new Set(routes.flatMap((route) => route.events));
  if (events.has('opened')) events.add('emergency');
  if (settings.kind === 'pagerduty' && ASKING.some((event) => events.has(event))) events.add('closed');
  return events;
}

/** The lanes that a channel needs. */
export function purposesOf(channel: Pick<Lane, 'settings' | 'routes'>): readonly Purpose[] {
  const events = eventsOf(channel);
  const isNotice = [...events].some((event) => event !== 'outcome');
  return [
    ...(isNotice ? (['notice'] as const) : []),
    ...(events.has('reminder') || events.has('emergency') ? (['reminder'] as const) : []),
    ...(events.has('outcome') ? (['outcome'] as const) : []),
  ];
}
