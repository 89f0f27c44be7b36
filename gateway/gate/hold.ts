import type { CallState } from '../../core/call-state';
import type { JsonObject } from '../../core/json';
import type { ClaimedCall } from '../../ledger/commands/gateway-calls';
import type { ClientSession } from '../ports';

/** One client's call that waits here for its operation. */
export interface WaitingCaller {
  readonly session: ClientSession;
  readonly signal: AbortSignal;
  /** What its call carries to the tool beside what was approved. */
  readonly trace: JsonObject;
}

/**
 * An operation that this gateway holds: the callers that wait for it, and what has become of it. It runs only while one
 * of them is there.
 */
export class Hold {
  readonly operationId: string;
  /** True between the dispatch and the answer of its tool, while that runs in this process. */
  running = false;
  /** True once its tool was called from this process. */
  isSent = false;
  /** Settles once its turn was told that somebody is here, or could not be; never rejects. */
  told: Promise<unknown> | undefined;
  /** Its latest approval request, as far as this process has heard of one. */
  asked: ClaimedCall['asked'] = null;
  /** When an allow was found on record, by the monotonic clock: a listing begun then or later serves the re-check. */
  allowedSinceMs: number | undefined;
  /** When it was last looked whether its turn still counts on this gateway, by the monotonic clock. */
  lookedAgainAtMs = 0;
  private readonly callers = new Set<WaitingCaller>();
  private readonly listeners = new Set<(state: CallState) => void>();

  constructor(operationId: string) {
    this.operationId = operationId;
  }

  /** The session of the latest caller that is still there; null where nobody is. */
  get session(): ClientSession | null {
    return this.caller?.session ?? null;
  }

  /** The latest caller that is still there. */
  get caller(): WaitingCaller | undefined {
    return [...this.callers].findLast(({ signal }) => !signal.aborted);
  }

  /** @returns what takes the caller out again. */
  join(caller: WaitingCaller): () => void {
    this.callers.add(caller);
    return () => this.callers.delete(caller);
  }

  get isEmpty(): boolean {
    return this.callers.size === 0;
  }

  /** Hears every state that the call takes here; @returns what ends that. */
  listen(listener: (state: CallState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(state: CallState): void {
    if (state.status === 'pending') {
      const { revision, bindingDigest: digest, ask } = state.request;
      this.asked = { revision, digest, rule: ask.rule };
    }
    for (const listener of this.listeners) listener(state);
  }
}
