import { memberOf } from '../core/member';
import type { Requester } from '../core/requester';
import { turnDigest, type ProposedCall, type TurnInput } from '../core/turn';

/** The parts of a turn's input that the turn itself shows and passes on. */
export interface TurnShape {
  readonly turnId: string;
  readonly requester: Requester;
  readonly calls: readonly ProposedCall[];
  readonly contentDigest: string;
}

/**
 * Reads an untrusted input as far as a turn needs it before `openRequests` has judged it. An input of another shape, or
 * one that has no canonical JSON, shows nothing, and is refused there.
 */
export function shapeOf(input: unknown): TurnShape {
  const contentDigest = turnDigest(input);
  const { turnId, requester, calls } = (input ?? {}) as Partial<TurnInput>;
  const readable =
    contentDigest !== 'none' &&
    typeof turnId === 'string' &&
    typeof requester?.subject === 'string' &&
    Array.isArray(calls) &&
    calls.every((call: unknown) => typeof memberOf(call, 'id') === 'string');
  if (!readable) return { turnId: '', requester: { subject: '', agent: '', chain: [] }, calls: [], contentDigest };
  const chain = (requester as Partial<Requester>).chain ?? [];
  return { turnId, requester: { ...requester, chain }, calls, contentDigest };
}

/** A worker older than the message fails only its task, so that a newer worker takes the turn over. */
export function assertKnownVersion(input: unknown): void {
  const version = memberOf(input, 'v');
  if (typeof version === 'number' && version > 1)
    throw new Error(`this worker does not know turns of version ${version}`);
}
