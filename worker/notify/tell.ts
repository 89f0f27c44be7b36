import { unreachable } from '../../core/unreachable';
import { deliveriesAbout } from '../../ledger/deliveries-about';
import type { ClaimedDelivery } from '../../ledger/outbox';
import { operationRecord, revisionsOf, type RequestRecord } from '../../ledger/queries';
import { retrospectivesOf } from '../../ledger/retrospective-queries';
import type { Attempt } from '../relay-endpoint';
import { laneId, type Lane } from './lane';
import { ASKING, leads, leadsEmergency, waitMs, type NoticeEvent, type Routed } from './route';
import type { StoredEvent } from './stored-event';
import { toldCall, type Told } from './told';

/** What is to be told, or why nothing is. */
export type Telling = { readonly kind: 'tell'; readonly told: Told } | (Attempt & { readonly kind: 'unsent' });

type Asks = StoredEvent & { readonly kind: 'asks' };
type Closes = StoredEvent & { readonly kind: 'closes' };
type Emergencies = StoredEvent & { readonly kind: 'emergency' };
type Ends = StoredEvent & { readonly kind: 'ends' };

/** How soon the end of a request is looked at again whose opening is just being told. */
const AFTER_EARLIER_MS = 250;

/** What a lane tells of an event now, by what the ledger says of it now. Reads only. */
export async function tell(lane: Lane, stored: StoredEvent, delivery: ClaimedDelivery): Promise<Telling> {
  switch (stored.kind) {
    case 'asks':
      return tellAsked(lane, stored, delivery);
    case 'closes':
      return lane.purpose === 'outcome' ? tellNotSent(lane, stored) : tellClosed(lane, stored);
    case 'emergency':
      return tellEmergency(lane, stored);
    case 'ends':
      return lane.purpose === 'outcome' ? tellOutcome(lane, stored) : tellUnknown(lane, stored, delivery);
    default:
      return unreachable(stored);
  }
}

function never(reason: string): Telling {
  return { kind: 'unsent', reason, againInMs: null };
}

const NOT_ROUTED = never('no route leads here');

async function recordOf(lane: Lane, operationId: string, revision: number): Promise<RequestRecord | undefined> {
  const records = await revisionsOf(lane.store.db, operationId);
  return records.find(({ request }) => request.revision === revision);
}

function routedOf(event: NoticeEvent, { request, standing }: RequestRecord, level = standing.level): Routed {
  return { event, server: request.server, rule: request.ask.rule?.id ?? null, level };
}

/** People are only asked what still waits for them. */
async function tellAsked(lane: Lane, stored: Asks, { createdAtMs }: ClaimedDelivery): Promise<Telling> {
  const record = await recordOf(lane, stored.operationId, stored.revision);
  const nowMs = await lane.store.nowMs();
  if (record === undefined) return never('the request is not on record');
  const { request, standing } = record;
  if (standing.state !== 'pending' || nowMs >= request.deadlineAtMs) return never('it waits no more');
  const event = lane.purpose === 'reminder' ? 'reminder' : stored.event;
  const routed = routedOf(event, record, event === 'reminder' ? standing.level : (stored.level ?? standing.level));
  const wait = waitMs(lane.routes, routed);
  if (wait === null) return NOT_ROUTED;
  const againInMs = createdAtMs + wait - nowMs;
  if (againInMs > 0) return { kind: 'unsent', reason: 'it is not due yet', againInMs };
  return { kind: 'tell', told: { kind: event, call: toldCall(request), request, level: standing.level } };
}

/** The end is told where the request was told, or to a route that asks for ends alone. */
async function tellClosed(lane: Lane, stored: Closes): Promise<Telling> {
  const { operationId, revision, state, reason } = stored;
  const record = await recordOf(lane, operationId, revision);
  if (record === undefined) return never('the request is not on record');
  const { request, standing } = record;
  const ways = lane.routes.filter((route) => leads(route, routedOf('closed', record)));
  const isPager = lane.settings.kind === 'pagerduty';
  if (ways.length === 0 && !isPager) return NOT_ROUTED;
  const endsAlone = ways.some(({ events }) => !events.some((event) => ASKING.includes(event)));
  const { tried, underWay, known } = await deliveriesAbout(lane.store.db, {
    endpoints: [laneId(lane.channel, 'notice'), laneId(lane.channel, 'reminder')],
    prefixes: ['opened', 'escalated', 'reminded'].map((name) => `${operationId}:${revision}:${name}`),
  });
  // Else an alert could be raised after it was resolved.
  if (underWay) return { kind: 'unsent', reason: 'an earlier notice is under way', againInMs: AFTER_EARLIER_MS };
  if (!tried && known && (!endsAlone || isPager)) return never('its opening was not told here');
  const call = toldCall(request);
  return { kind: 'tell', told: { kind: 'closed', call, request, level: standing.level, state, reason } };
}

/**
 * Told at once, whatever has become of the call since: people were skipped, and have to review it. Once more shortly
 * before that is due, or later where the channel was away, while the review is open.
 */
async function tellEmergency(lane: Lane, stored: Emergencies): Promise<Telling> {
  const record = await recordOf(lane, stored.operationId, stored.revision);
  if (record === undefined) return never('the request is not on record');
  if (!leadsEmergency(lane.routes, stored)) return NOT_ROUTED;
  const { request } = record;
  const { emergency } = stored;
  const call = toldCall(request);
  if (lane.purpose !== 'reminder') return { kind: 'tell', told: { kind: 'emergency', call, request, emergency } };
  const reviews = await retrospectivesOf(lane.store.db, stored.operationId);
  const isOpen = reviews.some(({ grantId, closed }) => grantId === emergency.grantId && closed === null);
  return isOpen ? { kind: 'tell', told: { kind: 'reviewDue', call, request, emergency } } : never('it is reviewed');
}

/** The end of a request, for its requester. */
async function tellNotSent(lane: Lane, { operationId, revision, state, reason }: Closes): Promise<Telling> {
  const record = await recordOf(lane, operationId, revision);
  if (record === undefined || state === 'allowed') return never('the request is not on record');
  if (waitMs(lane.routes, routedOf('outcome', record)) === null) return NOT_ROUTED;
  const { request } = record;
  const call = toldCall(request);
  return { kind: 'tell', told: { kind: 'outcome', call, request, state, reason, isError: false } };
}

async function sentOf(lane: Lane, event: NoticeEvent, operationId: string) {
  const operation = await operationRecord(lane.store.db, operationId);
  const record = (await revisionsOf(lane.store.db, operationId)).at(-1);
  const request = record?.request ?? null;
  const routed =
    record === undefined
      ? { event, server: operation?.server, rule: operation?.approval?.askedRule?.id ?? null, level: null }
      : routedOf(event, record);
  return { operation, request, wait: waitMs(lane.routes, routed) };
}

/** How a call ended that was sent, for its requester, who hears of what people were asked about or have to find out. */
async function tellOutcome(lane: Lane, { operationId, state: event }: Ends): Promise<Telling> {
  const { operation, request, wait } = await sentOf(lane, 'outcome', operationId);
  if (operation === null) return never('the operation is not on record');
  if (wait === null) return NOT_ROUTED;
  const { state } = operation;
  if (state === 'dispatched' || (event === 'unknown' && state !== 'unknown'))
    return never('it is not unknown any more');
  if (request === null && (event === 'executed' || event === 'failed')) return never('nobody was asked about it');
  const call = toldCall(request ?? operation);
  const isError = operation.isError === true;
  return { kind: 'tell', told: { kind: 'outcome', call, request, state, reason: null, isError } };
}

/** That a person has to find out, and later that it was found out: where the one was told, the other is. */
async function tellUnknown(
  lane: Lane,
  { operationId, state: event }: Ends,
  { createdAtMs }: ClaimedDelivery,
): Promise<Telling> {
  const { operation, request, wait } = await sentOf(lane, 'unknown', operationId);
  if (operation === null) return never('the operation is not on record');
  if (wait === null) return NOT_ROUTED;
  const { state } = operation;
  const call = toldCall(request ?? operation);
  if (event === 'unknown') {
    if (state !== 'unknown') return never('it is not unknown any more');
    const againInMs = createdAtMs + wait - (await lane.store.nowMs());
    if (againInMs > 0) return { kind: 'unsent', reason: 'it is not due yet', againInMs };
    return { kind: 'tell', told: { kind: 'unknown', call, request } };
  }
  if (state !== 'executed' && state !== 'failed') return never('it is not found out');
  const { tried, underWay, known } = await deliveriesAbout(lane.store.db, {
    endpoints: [laneId(lane.channel, 'notice')],
    prefixes: [`${operationId}:unknown`],
  });
  if (underWay) return { kind: 'unsent', reason: 'an earlier notice is under way', againInMs: AFTER_EARLIER_MS };
  // Only what was unknown is settled by a person; of the other ends none says that.
  if (!tried && (known || event !== 'settled')) return never('that it was unknown was not told here');
  return { kind: 'tell', told: { kind: 'found', call, request, state } };
}
