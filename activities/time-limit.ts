/** A signal that ends one request, by its time or by its caller. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Why the request was ended; undefined while it was not. */
  reason(): string | undefined;
  release(): void;
}

/** Limits a request to `timeoutMs` and to the life of the callers' signals. `release` must be called. */
export function limitTime(timeoutMs: number, callers: readonly (AbortSignal | undefined)[]): TimeLimit {
  const controller = new AbortController();
  let reason: string | undefined;
  const end = (why: string): void => {
    reason ??= why;
    controller.abort();
  };
  const cancel = (): void => end('the call was cancelled before it was answered');
  const timer = setTimeout(() => end(`no answer within ${timeoutMs} ms`), timeoutMs);
  for (const caller of callers) {
    if (caller?.aborted === true) cancel();
    caller?.addEventListener('abort', cancel, { once: true });
  }
  return {
    signal: controller.signal,
    reason: () => reason,
    release() {
      clearTimeout(timer);
      for (const caller of callers) caller?.removeEventListener('abort', cancel);
    },
  };
}
