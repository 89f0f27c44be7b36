const MAX_WAIT_MS = 300_000;

/** How fast a receiver may be sent to: after a failure there are pauses, longer with each one, until something arrives. */
export class Pace {
  readonly #retryMs: number;
  #failures = 0;
  #resumeAtMs = 0;

  constructor(retryMs: number) {
    this.#retryMs = retryMs;
  }

  get isSlow(): boolean {
    return this.#failures > 0;
  }

  /** How long nothing may be sent from now on. */
  get pauseMs(): number {
    return Math.max(0, this.#resumeAtMs - performance.now());
  }

  arrived(): void {
    this.#failures = 0;
    this.#resumeAtMs = 0;
  }

  /** Answers to events that were under way together count as one failure; what a receiver asks for counts in full. */
  slowDown(askedMs: number): void {
    const nowMs = performance.now();
    if (nowMs >= this.#resumeAtMs) {
      this.#failures += 1;
      this.#resumeAtMs = nowMs + this.waitMs(this.#failures);
    }
    this.#resumeAtMs = Math.max(this.#resumeAtMs, nowMs + askedMs);
  }

  /** Doubled each time, with a random half so that endpoints which failed together are not tried together. */
  waitMs(attempt: number): number {
    const waitMs = Math.min(this.#retryMs * 2 ** (attempt - 1), MAX_WAIT_MS);
    return Math.round(waitMs / 2 + (Math.random() * waitMs) / 2);
  }
}
