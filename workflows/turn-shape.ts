import { memberOf } from '../core/member';
import type { Requester } from '../core/requester';
import { TURN_LIMITS, turnDigest, type ProposedCall, type TurnInput } from '../core/turn';

/** The parts of a turn's input that the turn itself shows and passes on. */
export interface TurnShape {
  readonly turnId: string;
  readonly requester: Requester;
  readonly calls: readonly ProposedCall[];
  readonly contentDigest: string;
  readonly collected: boolean;
}

/**
 * Reads an untrusted input as far as a turn needs it before `openRequests` has judged it. An input of another shape,
 * with more or longer names than a turn has, or without canonical JSON, shows nothing, and is refused there.
 */
export function shapeOf(input: unknown): TurnShape {
  const contentDigest = turnDigest(input);
  const { turnId, requester, calls, collected } = (input ?? {}) as Partial<TurnInput>;
  const readable =
    contentDigest !== 'none' &&
    isName(turnId) &&
    isRequester(requester) &&
    Array.isArray(calls) &&
    calls.length <= TURN_LIMITS.calls &&
    calls.every(isCall);
  const nothing = { turnId: '', requester: { subject: '', agent: '', chain: [] }, calls: [], collected: false };
  if (!readable) return { ...nothing, contentDigest };
  const chain = (requester as Partial<Requester>).chain ?? [];
  return { turnId, requester: { ...requester, chain }, calls, contentDigest, collected: collected === true };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TURN_LIMITS.idLength;
}

function isRequester(value: unknown): value is Omit<Requester, 'chain'> {
  const chain = memberOf(value, 'chain') ?? [];
  return isName(memberOf(value, 'subject')) && isName(memberOf(value, 'agent')) && Array.isArray(chain);
}

function isCall(value: unknown): boolean {
  return ['id', 'server', 'tool'].every((name) => isName(memberOf(value, name)));
}

/** The task queue that a `collect` message names; null for anything else. */
export function readCollector(message: unknown): string | null {
  const taskQueue = memberOf(message, 'taskQueue');
  return isName(taskQueue) && taskQueue !== '' ? taskQueue : null;
}

/** A worker older than the message fails only its task, so that a newer worker takes the turn over. */
export function assertKnownVersion(input: unknown): void {
  const version = memberOf(input, 'v');
  if (typeof version === 'number' && version > 1)
    throw new Error(`this worker does not know turns of version ${version}`);
}
