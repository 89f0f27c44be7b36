import { reasonOf } from '../ledger/ledger-error';
import type { Log } from '../ledger/log';
import { claimDeliveries, hasDeliveries, recordDelivered, recordFailed, type ClaimedDelivery } from '../ledger/outbox';
import type { Store } from '../ledger/transaction';
import { checkEndpoint, sendWebhook, type CheckedEndpoint, type WebhookEndpoint } from './webhook';

export interface OutboxRelayOptions {
  readonly store: Store;
  readonly endpoints: readonly WebhookEndpoint[];
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

type Settings = Required<Omit<OutboxRelayOptions, 'endpoints'>>;

const IN_FLIGHT = 8;
const MAX_WAIT_MS = 300_000;

/**
 * Sends the outbox to webhooks, at least once and with the same id on each try. Endpoints know nothing of each other, and
 * any number of processes may relay one ledger: an event is claimed before it is sent.
 */
export function startOutboxRelay({ endpoints, ...options }: OutboxRelayOptions): OutboxRelay {
  const defaults = { pollMs: 500, timeoutMs: 15_000, retryMs: 1_000, giveUpMs: 3 * 86_400_000, drainMs: 5_000 };
  const checked = endpoints.map(checkEndpoint);
  const ids = new Set(checked.map(({ id }) => id));
  if (ids.size < checked.length) throw new TypeError('Two webhooks have the same id, and so would share their state');
  const lanes = checked.map((endpoint) => new Lane(endpoint, { ...defaults, ...options }));
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
  readonly #endpoint: CheckedEndpoint;
  readonly #settings: Settings;
  readonly #inFlight = new Set<Promise<void>>();
  #failures = 0;
  #resumeAtMs = 0;
  #stopAtMs = Number.POSITIVE_INFINITY;
  #wake: () => void = () => undefined;

  constructor(endpoint: CheckedEndpoint, settings: Settings) {
    this.#endpoint = endpoint;
    this.#settings = settings;
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
    return this.#inFlight.size === 0 || this.#failures > 0 || performance.now() >= this.#stopAtMs;
  }

  async #claim(): Promise<readonly ClaimedDelivery[]> {
    const { store, log, timeoutMs } = this.#settings;
    const { id, wants } = this.#endpoint;
    const limit = this.#failures > 0 ? 1 - this.#inFlight.size : IN_FLIGHT - this.#inFlight.size;
    if (limit <= 0 || performance.now() < this.#resumeAtMs) return [];
    try {
      if (!(await hasDeliveries(store.db, { endpoint: id, nowMs: await store.nowMs() }))) return [];
      // Twice the time that an attempt takes at most: nobody else sends it meanwhile.
      return await claimDeliveries(store, { reader: { endpoint: id, wants }, limit, leaseMs: 2 * timeoutMs });
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
    const { store, log, timeoutMs, giveUpMs } = this.#settings;
    const { eventId, body, attempt } = delivery;
    const answer = await sendWebhook(this.#endpoint, { message: { id: eventId, body }, timeoutMs });
    if (answer.ok) {
      this.#failures = 0;
      this.#resumeAtMs = 0;
      await recordDelivered(store, delivery);
      return;
    }
    this.#slowDown(answer.retryAfterMs ?? 0);
    const isOver = (await store.nowMs()) - delivery.createdAtMs >= giveUpMs;
    const retryInMs = isOver ? null : Math.max(this.#waitMs(attempt), answer.retryAfterMs ?? 0);
    const entry = { endpoint: this.#endpoint.id, eventId, attempt, detail: answer.detail, retryInMs };
    if (isOver) log.error(entry, 'event given up');
    else log.warn(entry, 'event not delivered');
    await recordFailed(store, { delivery, error: answer.detail, retryInMs });
  }

  /** Answers to events that were under way together count as one failure. */
  #slowDown(atLeastMs: number): void {
    const nowMs = performance.now();
    if (nowMs < this.#resumeAtMs) return;
    this.#failures += 1;
    this.#resumeAtMs = nowMs + Math.max(this.#waitMs(this.#failures), atLeastMs);
  }

  /** Doubled each time, with a random half so that endpoints which failed together are not tried together. */
  #waitMs(attempt: number): number {
    const waitMs = Math.min(this.#settings.retryMs * 2 ** (attempt - 1), MAX_WAIT_MS);
    return Math.round(waitMs / 2 + (Math.random() * waitMs) / 2);
  }

  /** Until the next look, an answer, or the order to stop. */
  async #pause(): Promise<void> {
    const untilMs = Math.max(this.#settings.pollMs, this.#resumeAtMs - performance.now());
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, untilMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
