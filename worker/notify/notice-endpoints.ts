import type { Log } from '../../ledger/log';
import type { ClaimedDelivery } from '../../ledger/outbox';
import type { Store } from '../../ledger/transaction';
import type { RelayEndpoint } from '../relay-endpoint';
import { laneId, purposesOf, type Lane } from './lane';
import { noticeOf } from './notice';
import type { NotifySettings } from './notify-settings';
import { dueAtMs, typesOf } from './plan';
import { senderOf, type Sender } from './sender';
import { readStored } from './stored-event';
import { tell } from './tell';

interface Serving {
  readonly notify: NotifySettings;
  readonly store: Store;
  readonly log: Log;
}

/** The channels of notices as endpoints of the outbox relay: each event is told once on each lane, however often tried. */
export function noticeEndpoints({ notify, store, log }: Serving): readonly RelayEndpoint[] {
  return Object.entries(notify.channels).flatMap(([channel, settings]) => {
    const routes = notify.routes.filter((route) => route.channels.includes(channel));
    const sender = senderOf(settings, { requesters: notify.requesters, log });
    const { reminderBeforeMs } = notify;
    return purposesOf({ settings, routes }).map((purpose) =>
      endpointOf({ purpose, channel, settings, routes, reminderBeforeMs, store, log }, { sender, notify }),
    );
  });
}

function endpointOf(lane: Lane, { sender, notify }: { sender: Sender; notify: NotifySettings }): RelayEndpoint {
  const types = typesOf(lane);
  const id = laneId(lane.channel, lane.purpose);
  return {
    id,
    channel: lane.settings.kind,
    pace: laneId(lane.channel, 'notice'),
    wants: (type) => types.has(type),
    dueAtMs: (event) => dueAtMs(lane, event),
    async attempt(delivery: ClaimedDelivery, timeoutMs: number) {
      const stored = readStored(delivery);
      if (stored === null) return { kind: 'unsent', reason: 'no notice tells of it', againInMs: null };
      const telling = await tell(lane, stored, delivery);
      if (telling.kind === 'unsent') return telling;
      const nowMs = await lane.store.nowMs();
      const notice = noticeOf(telling.told, { nowMs, consoleUrl: notify.consoleUrl, limits: sender.limits });
      return sender.send(notice, { key: `${id}:${delivery.eventId}`, timeoutMs });
    },
  };
}
