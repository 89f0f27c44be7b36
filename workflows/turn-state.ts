import { withResultInStateUpTo, type CallState } from '../core/call-state';
import { operationId } from '../core/digest';
import type { Refusal } from '../core/errors';
import type { ApprovalRequest } from '../core/request';
import type { Requester } from '../core/requester';
import { withResultUpTo } from '../core/outcome';
import { resultShare, type Collector, type ProposedCall } from '../core/turn';
import { packEvents, packSnapshot, type PackedSnapshot, type TurnResult } from '../core/turn-packing';
import type { CallResult, CallView, TurnEvent, TurnEventBody } from '../core/turn-view';
import { shapeOf } from './turn-shape';

/** One call as the turn holds it: the ledger's latest answer, and what the requester wants. */
export interface TurnCall {
  readonly proposed: ProposedCall;
  readonly operationId: string;
  state: CallState;
  withdrawReason: string | null;
  /** Which send of the tool comes next: more than 1 only after an effect is proven absent. */
  attempt: number;
  lookUps: number;
}

/** All that a turn remembers. Everything that decides is in the ledger; this is the latest answer of it. */
export interface Turn {
  readonly workflowId: string;
  readonly input: unknown;
  readonly turnId: string;
  readonly requester: Requester;
  readonly contentDigest: string;
  /** True: what is allowed waits until somebody collects it. */
  readonly collected: boolean;
  /** Those who said to be there, the latest last. */
  readonly collectors: Collector[];
  readonly calls: readonly TurnCall[];
  readonly events: TurnEvent[];
  opened: boolean;
  /** Settles once every call is on record. */
  readonly whenOpened: Promise<void>;
  open: () => void;
  /** Told of every change of a call. */
  changed: (call: TurnCall) => void;
  ignored: number;
  judged: number;
  /** Messages to `decide` that name no call of this turn. */
  strays: number;
  refusal: Refusal | null;
}

/** A turn before its calls are on record. The input is untrusted: what cannot be read is left for `openRequests` to refuse. */
export function newTurn(workflowId: string, input: unknown): Turn {
  const { calls, ...shape } = shapeOf(input);
  const { turnId, requester } = shape;
  let opened: () => void = () => undefined;
  const whenOpened = new Promise<void>((resolve) => (opened = resolve));
  const turn: Turn = {
    workflowId,
    input,
    ...shape,
    collectors: [],
    calls: calls.map((proposed) => ({
      proposed,
      operationId: operationId({ requesterSubject: requester.subject, turnId, callId: proposed.id }),
      state: { status: 'proposed' },
      withdrawReason: null,
      attempt: 1,
      lookUps: 0,
    })),
    events: [],
    opened: false,
    whenOpened,
    open: () => {
      turn.opened = true;
      opened();
    },
    changed: () => undefined,
    ignored: 0,
    judged: 0,
    strays: 0,
    refusal: null,
  };
  return turn;
}

/** Takes the ledger's answer for a call, and notes what is new in it. */
export function take(turn: Turn, call: TurnCall, state: CallState): void {
  const before = call.state;
  const atMs = Date.now();
  call.state = withResultInStateUpTo(state, resultShare(turn.calls.length));
  const ids = { callId: call.proposed.id, operationId: call.operationId };
  for (const body of newsOf(before, state)) turn.events.push({ number: turn.events.length + 1, atMs, ...ids, ...body });
  turn.changed(call);
}

type News<T> = T extends unknown ? Omit<T, 'callId' | 'operationId'> : never;

function newsOf(before: CallState, after: CallState): readonly News<TurnEventBody>[] {
  switch (after.status) {
    case 'proposed':
      return [];
    case 'pending': {
      const same = before.status === 'pending' && before.request.revision === after.request.revision;
      if (!same) return [{ type: 'approvalRequired', request: after.request }];
      return after.level > before.level ? [{ type: 'escalated', level: after.level }] : [];
    }
    case 'allowed':
      return before.status === 'allowed' ? [] : [{ type: 'allowed', revision: after.revision }];
    case 'dispatched':
      return before.status === 'dispatched' ? [] : [{ type: 'outcomePending' }];
    case 'ended':
      return before.status === 'ended' ? [] : [{ type: 'ended', end: withResultUpTo(after.end, 0) }];
  }
}

export function propose(turn: Turn): void {
  const atMs = Date.now();
  for (const { proposed, operationId: id } of turn.calls) {
    turn.events.push({ number: turn.events.length + 1, atMs, type: 'proposed', callId: proposed.id, operationId: id });
  }
}

export function pendingRequests(turn: Turn): readonly ApprovalRequest[] {
  return turn.calls.flatMap(({ state }) => (state.status === 'pending' ? [state.request] : []));
}

export function hasUnknown(turn: Turn): boolean {
  return turn.calls.some(({ state }) => state.status === 'ended' && state.end.outcome === 'unknown');
}

export function snapshotOf(turn: Turn): PackedSnapshot {
  return packSnapshot({
    v: 1,
    turnId: turn.turnId,
    workflowId: turn.workflowId,
    contentDigest: turn.contentDigest,
    opened: turn.opened,
    calls: turn.calls.map(viewOf),
    requiredActions: pendingRequests(turn),
    events: turn.events,
    ignored: turn.ignored,
    refusal: turn.refusal,
  });
}

/** Results are only named: beside the cards a message has no room for them, and the turn's end brings them. */
function viewOf({ proposed, operationId: id, state }: TurnCall): CallView {
  const { server, tool } = proposed;
  return { callId: proposed.id, operationId: id, server, tool, state: withResultInStateUpTo(state, 0) };
}

/** The end of a turn whose calls have all ended, or that was refused whole. */
export function resultOf(turn: Turn): TurnResult {
  const results = turn.calls.flatMap(({ proposed, operationId: id, state }): readonly CallResult[] => {
    const end = state.status === 'ended' ? state.end : null;
    const refused = end ?? (turn.refusal === null ? null : { outcome: 'refused' as const, ...turn.refusal });
    return refused === null
      ? []
      : [{ callId: proposed.id, operationId: id, server: proposed.server, tool: proposed.tool, end: refused }];
  });
  return {
    v: 1,
    turnId: turn.turnId,
    contentDigest: turn.contentDigest,
    results,
    ...packEvents(turn.events),
    refusal: turn.refusal,
  };
}
