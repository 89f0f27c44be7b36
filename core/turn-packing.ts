import type { CallState } from './call-state';
import { canonicalJson } from './json';
import { jsonOf } from './json-record';
import type { Refusal } from './errors';
import type { ApprovalRequest } from './request';
import { TURN_LIMITS } from './turn';
import type { CallResult, CallView, TurnEvent, TurnSnapshot } from './turn-view';

type Asked = TurnEvent & { readonly type: 'approvalRequired' };
type Pending = CallState & { readonly status: 'pending' };

/** An event as it travels: a request is named by its revision and stands beside the events, once. */
export type PackedEvent = Exclude<TurnEvent, Asked> | (Omit<Asked, 'request'> & { readonly revision: number });

/** A call as it travels, likewise. */
export type PackedCall = Omit<CallView, 'state'> & {
  readonly state: Exclude<CallState, Pending> | (Omit<Pending, 'request'> & { readonly revision: number });
};

/**
 * The answer to query `snapshot` and to update `opened`. `requiredActions` are the requests that wait for people,
 * `earlierRequests` those that do not any more. As many as a message has room for; the others are in the ledger.
 */
export type PackedSnapshot = Omit<TurnSnapshot, 'calls' | 'events'> & {
  readonly calls: readonly PackedCall[];
  readonly events: readonly PackedEvent[];
  readonly earlierRequests: readonly ApprovalRequest[];
};

/** The result of workflow `agentTurn`. `requests` are those of the events, as many as there is room for. */
export interface TurnResult {
  readonly v: 1;
  readonly turnId: string;
  readonly contentDigest: string;
  readonly results: readonly CallResult[];
  readonly events: readonly PackedEvent[];
  readonly requests: readonly ApprovalRequest[];
  readonly refusal: Refusal | null;
}

/** The other half of what a result may weigh is left for the results themselves. */
const REQUEST_BYTES_IN_RESULT = 524_288;

/** A snapshot in its travelling form, in which no request stands twice: Temporal takes no message over 2 MB. */
export function packSnapshot(snapshot: TurnSnapshot): PackedSnapshot {
  const room = createRoom(TURN_LIMITS.cardBytes);
  const requiredActions = snapshot.requiredActions.filter(room);
  const open = new Set(snapshot.requiredActions.map(nameOf));
  const earlier = requestsOf(snapshot.events).filter((request) => !open.has(nameOf(request)));
  return {
    ...snapshot,
    calls: snapshot.calls.map(packCall),
    events: snapshot.events.map(packEvent),
    requiredActions,
    earlierRequests: earlier.filter(room),
  };
}

/** The events of a turn that has ended, in their travelling form. */
export function packEvents(events: readonly TurnEvent[]): Pick<TurnResult, 'events' | 'requests'> {
  return { events: events.map(packEvent), requests: requestsOf(events).filter(createRoom(REQUEST_BYTES_IN_RESULT)) };
}

/** The requests of the events, the latest first. */
function requestsOf(events: readonly TurnEvent[]): readonly ApprovalRequest[] {
  return events.flatMap((event) => (event.type === 'approvalRequired' ? [event.request] : [])).reverse();
}

function nameOf({ operationId, revision }: ApprovalRequest): string {
  return `${operationId}.${revision}`;
}

/** Whether a further request still fits in. */
function createRoom(bytes: number): (request: ApprovalRequest) => boolean {
  let left = bytes;
  return (request) => {
    const needed = new TextEncoder().encode(canonicalJson(jsonOf(request))).length;
    if (needed > left) return false;
    left -= needed;
    return true;
  };
}

function packCall(call: CallView): PackedCall {
  if (call.state.status !== 'pending') return { ...call, state: call.state };
  const { request, ...state } = call.state;
  return { ...call, state: { ...state, revision: request.revision } };
}

function packEvent(event: TurnEvent): PackedEvent {
  if (event.type !== 'approvalRequired') return event;
  const { request, ...rest } = event;
  return { ...rest, revision: request.revision };
}

/** Gives the request of an operation's revision. */
export type FindRequest = (operationId: string, revision: number) => Promise<ApprovalRequest>;

/** The events with their requests in them. */
export function unpackEvents(events: readonly PackedEvent[], find: FindRequest): Promise<readonly TurnEvent[]> {
  return Promise.all(
    events.map(async (event) => {
      if (event.type !== 'approvalRequired') return event;
      const { revision, ...rest } = event;
      return { ...rest, request: await find(event.operationId, revision) };
    }),
  );
}

/** The snapshot with its requests in every place. */
export async function unpackSnapshot(packed: PackedSnapshot, find: FindRequest): Promise<TurnSnapshot> {
  const { earlierRequests: _earlier, ...rest } = packed;
  const calls = await Promise.all(packed.calls.map((call) => unpackCall(call, find)));
  const requiredActions = calls.flatMap(({ state }) => (state.status === 'pending' ? [state.request] : []));
  return { ...rest, calls, requiredActions, events: await unpackEvents(packed.events, find) };
}

async function unpackCall(call: PackedCall, find: FindRequest): Promise<CallView> {
  const { state, ...rest } = call;
  if (state.status !== 'pending') return { ...rest, state };
  const { revision, ...pending } = state;
  return { ...rest, state: { ...pending, request: await find(call.operationId, revision) } };
}
