import type { Requester } from '../../core/requester';

/** `retryAfterMs` is when the next message is taken. */
export type RateVerdict = { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number };

export type RateLimit = (requester: Requester) => RateVerdict;

export interface RateLimitOptions {
  /** Taken in a minute, and at once after a minute of silence. */
  readonly messagesPerMinute: number;
  /** Milliseconds of a clock that is never set back. */
  readonly nowMs: () => number;
  /** Requesters that are remembered, 10,000 by default. */
  readonly maxRequesters?: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

const MINUTE_MS = 60_000;
const MAX_REQUESTERS = 10_000;

/**
 * A token bucket for each subject and agent. Where more of them come within a minute than are remembered, the one that
 * was silent longest is forgotten: it may then send a minute's messages anew, and memory stays bounded.
 */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { messagesPerMinute: capacity, nowMs, maxRequesters = MAX_REQUESTERS } = options;
  const buckets = new Map<string, Bucket>();
  return ({ subject, agent }) => {
    const key = JSON.stringify([subject, agent]);
    const now = nowMs();
    const { tokens, atMs } = buckets.get(key) ?? { tokens: capacity, atMs: now };
    const filled = Math.min(capacity, tokens + ((now - atMs) * capacity) / MINUTE_MS);
    const isTaken = filled >= 1;
    // Deleted first, so that the order of the map is that of the last messages.
    buckets.delete(key);
    buckets.set(key, { tokens: isTaken ? filled - 1 : filled, atMs: now });
    if (buckets.size > maxRequesters) forgetOldest(buckets);
    return isTaken ? { ok: true } : { ok: false, retryAfterMs: Math.ceil(((1 - filled) * MINUTE_MS) / capacity) };
  };
}

function forgetOldest(buckets: Map<string, Bucket>): void {
  const [oldest] = buckets.keys();
  if (oldest !== undefined) buckets.delete(oldest);
}
