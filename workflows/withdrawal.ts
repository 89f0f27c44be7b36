import { storable } from '../core/display';
import { memberOf } from '../core/member';
import type { Turn, TurnCall } from './turn-state';

const REASON_LENGTH = 1_000;

/** What a `withdraw` message takes back: one call, or without an id every call that was not sent. */
export interface Withdrawal {
  readonly callId: string | undefined;
  readonly reason: string;
}

/** Reads a `withdraw` message; null for anything but one, so that a misspelt key or a broken payload takes nothing back. */
export function readWithdrawal(message: unknown): Withdrawal | null {
  const plain = message ?? {};
  if (typeof plain !== 'object' || Array.isArray(plain)) return null;
  if (Object.keys(plain).some((key) => key !== 'callId' && key !== 'reason')) return null;
  const [callId, reason] = [memberOf(plain, 'callId'), memberOf(plain, 'reason')];
  if (callId !== undefined && typeof callId !== 'string') return null;
  if (reason !== undefined && typeof reason !== 'string') return null;
  const took = 'the requester took it back';
  return {
    callId,
    reason: reason === undefined || reason === '' ? took : `${took}: ${storable(reason, REASON_LENGTH)}`,
  };
}

/** Takes these calls back, each for the first reason that was given. A promise, for a scope to run it. */
export function withdrawCalls(turn: Turn, calls: readonly TurnCall[], reason: string): Promise<void> {
  for (const call of calls) {
    call.withdrawReason ??= reason;
    turn.changed(call);
  }
  return Promise.resolve();
}
