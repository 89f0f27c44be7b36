import type { ClaimedDelivery, OutboxedEvent } from '../ledger/outbox';
import type { DeliveryChannel } from '../ledger/schema';

/** How one attempt to deliver an event ended. */
export type Attempt =
  | { readonly kind: 'sent' }
  /** There is nothing to send: now, where a time is given, or ever. */
  | { readonly kind: 'unsent'; readonly reason: string; readonly againInMs: number | null }
  | {
      readonly kind: 'failed';
      readonly detail: string;
      /** What the receiver asks for, or null. */
      readonly retryAfterMs: number | null;
      /** The receiver will never take this one, so it is given up at once. */
      readonly isFinal: boolean;
    };

/** Where the relay brings events, and how. */
export interface RelayEndpoint {
  /** The name under which its state is kept. */
  readonly id: string;
  /** What its results are counted under. */
  readonly channel: DeliveryChannel;
  readonly wants: (type: string) => boolean;
  /** When an event is due that is wanted; null where it is not after all. At once where this is left out. */
  readonly dueAtMs?: (event: OutboxedEvent) => number | null;
  /** Endpoints with the same one are slowed down together. */
  readonly pace: string;
  /** One attempt, which is over after `timeoutMs`. It may run again, and in two processes at once. */
  attempt(delivery: ClaimedDelivery, timeoutMs: number): Promise<Attempt>;
}
