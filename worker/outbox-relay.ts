import { unreachable } from '../core/unreachable';
import { reasonOf } from '../ledger/ledger-error';
import type { Log } from '../ledger/log';
import { claimDeliveries, hasDeliveries, recordDelivered, recordFailed, recordUnsent } from '../ledger/outbox';
import type { ClaimedDelivery } from '../ledger/outbox';
import type { Store } from '../ledger/transaction';
import { Pace } from './pace';
import type { Attempt, RelayEndpoint } from './relay-endpoint';
import { webhookEndpoint, type WebhookEndpoint } from './webhook';

export interface OutboxRelayOptions {
  readonly store: Store;
  readonly endpoints: readonly WebhookEndpoint[];
  /** What else events are brought to. */
  readonly notices?: readonly RelayEndpoint[];
  readonly log: Log;
  /** How often an idle endpoint looks for events: 500 ms by default. */
  readonly pollMs?: number;
  /** How long a receiver may take to answer: 15 s by default. */
  readonly timeoutMs?: number;
  /** The first wait after a failure, doubled with each one: 1 s by default. */
  readonly retryMs?: number;
  /** The age at which an event is given up: 3 days by default. */
  readonly giveUpMs?: number;
  /** How long `stop` goes on sending what is due: 5 s by default. */
  readonly drainMs?: number;
}

export interface OutboxRelay {
  /** Sends what is due, waits for answers on their way, and ends. */
  stop(): Promise<void>;
}

type Settings = Required<Omit<OutboxRelayOptions, 'endpoints' | 'notices'>>;

const IN_FLIGHT = 8;

/**
 * Sends the outbox to webhooks and further endpoints, at least once and with the same id on each try. Endpoints know
 * nothing of each other, and any number of processes may relay one ledger: an event is claimed before it is sent.
 */
export function startOutboxRelay({ endpoints, notices = [], ...options }: OutboxRelayOptions): OutboxRelay {
  const defaults = { pollMs: 500, timeoutMs: 15_000, retryMs: 1_000, giveUpMs: 3 * 86_400_000, drainMs: 5_000 };
  const all = [...endpoints.map(webhookEndpoint), ...notices];
  const ids = new Set(all.map(({ id }) => id));
  if (ids.size < all.length) throw new TypeError('Two webhooks have the same id, and so would share their state');
  const settings = { ...defaults, ...options };
  const paces = new Map(all.map(({ pace }) => [pace, new Pace(settings.retryMs)]));
  const lanes = all.map((endpoint) => {
    const pace = paces.get(endpoint.pace) ?? new Pace(settings.retryMs);
    return new Lane(endpoint, settings, pace);
  });
  const running = lanes.map((lane) => lane.run());
  return {
    async stop() {
      for (const lane of lanes) lane.stop();
      await Promise.all(running);
    },
  };
}

/** The way to one endpoint. After a failure it sends one event at a time, with growing pauses, until one arrives. */
class Lane {
  readonly #endpoint: RelayEndpoint;
  readonly #settings: Settings;
  readonly #pace: Pace;
  readonly #inFlight = new Set<Promise<void>>();
  #stopAtMs = Number.POSITIVE_INFINITY;
  #wake: () => void = () => undefined;

  constructor(endpoint: RelayEndpoint, settings: Settings, pace: Pace) {
    this.#endpoint = endpoint;
    this.#settings = settings;
    this.#pace = pace;
  }

  async run(): Promise<void> {
    for (;;) {
      const claimed = await this.#claim();
      for (const delivery of claimed) this.#start(delivery);
      if (this.#isStopping() && this.#isDrained()) break;
      await this.#pause();
    }
    await Promise.all(this.#inFlight);
  }

  stop(): void {
    this.#stopAtMs = performance.now() + this.#settings.drainMs;
    this.#wake();
  }

  #isStopping(): boolean {
    return Number.isFinite(this.#stopAtMs);
  }

  /** Nothing is due any more, or no time is left, or the endpoint does not take it. */
  #isDrained(): boolean {
    return this.#inFlight.size === 0 || this.#pace.isSlow || performance.now() >= this.#stopAtMs;
  }

  async #claim(): Promise<readonly ClaimedDelivery[]> {
    const { store, log, timeoutMs } = this.#settings;
    const { id, channel, wants, dueAtMs } = this.#endpoint;
    const limit = (this.#pace.isSlow ? 1 : IN_FLIGHT) - this.#inFlight.size;
    if (limit <= 0 || this.#pace.pauseMs > 0) return [];
    try {
      if (!(await hasDeliveries(store.db, { endpoint: id, nowMs: await store.nowMs() }))) return [];
      // Twice the time that an attempt takes at most: nobody else sends it meanwhile.
      const reader = { endpoint: id, channel, wants, dueAtMs };
      return await claimDeliveries(store, { reader, limit, leaseMs: 2 * timeoutMs });
    } catch (error) {
      log.warn({ endpoint: id, detail: reasonOf(error) }, 'outbox not read');
      return [];
    }
  }

  #start(delivery: ClaimedDelivery): void {
    const task = this.#deliver(delivery)
      .catch((error: unknown) => {
        // The lease ends and it is sent again.
        this.#settings.log.warn({ eventId: delivery.eventId, detail: reasonOf(error) }, 'delivery not recorded');
      })
      .finally(() => {
        this.#inFlight.delete(task);
        this.#wake();
      });
    this.#inFlight.add(task);
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const { store, timeoutMs } = this.#settings;
    const attempt = await this.#endpoint.attempt(delivery, timeoutMs);
    switch (attempt.kind) {
      case 'sent':
        this.#pace.arrived();
        return recordDelivered(store, delivery);
      case 'unsent':
        return recordUnsent(store, { delivery, ...attempt });
      case 'failed':
        return this.#failed(delivery, attempt);
      default:
        return unreachable(attempt);
    }
  }

  async #failed(delivery: ClaimedDelivery, failure: Attempt & { readonly kind: 'failed' }): Promise<void> {
    const { store, log, giveUpMs } = this.#settings;
    const { eventId, attempt } = delivery;
    const askedMs = failure.retryAfterMs ?? 0;
    // A refusal of one event says nothing of the others.
    if (!failure.isFinal) this.#pace.slowDown(askedMs);
    const sinceMs = this.#endpoint.dueAtMs?.(delivery) ?? delivery.createdAtMs;
    const isOver = failure.isFinal || (await store.nowMs()) - sinceMs >= giveUpMs;
    const retryInMs = isOver ? null : Math.max(this.#pace.waitMs(attempt), askedMs);
    const entry = { endpoint: this.#endpoint.id, eventId, attempt, detail: failure.detail, retryInMs };
    if (isOver) log.error(entry, 'event given up');
    else log.warn(entry, 'event not delivered');
    await recordFailed(store, { delivery, error: failure.detail, retryInMs });
  }

  /** Until the next look, an answer, or the order to stop. */
  async #pause(): Promise<void> {
    const untilMs = Math.max(this.#settings.pollMs, this.#pace.pauseMs);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, untilMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
