const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5_000;

/** Keeps a server that cannot start from being started in a tight loop. */
export class StartBackoff {
  private failures = 0;
  private notBeforeMs = 0;
  private detail = '';

  /** Why no start is tried now; undefined where one may be. */
  get reason(): string | undefined {
    return performance.now() < this.notBeforeMs ? this.detail : undefined;
  }

  failed(detail: string): void {
    this.notBeforeMs = performance.now() + Math.min(FIRST_BACKOFF_MS * 2 ** this.failures, LONGEST_BACKOFF_MS);
    this.failures += 1;
    this.detail = detail;
  }

  started(): void {
    this.failures = 0;
    this.notBeforeMs = 0;
  }
}
