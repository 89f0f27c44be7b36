const MAX_RETRY_AFTER_MS = 3_600_000;

/** How long a receiver asks to be left alone, an hour at most; null where it says nothing that can be read. */
export function retryAfterMs({ headers }: Response, at: Date): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - at.getTime();
  return Number.isFinite(waitMs) ? Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS) : null;
}

/** `fetch failed` says nothing: its cause does. Errors of fetch are of Node's own realm, so this asks for what they have. */
export function failureText(error: unknown): string {
  const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined;
  const texts = [textOf(cause, 'message'), textOf(cause, 'code'), textOf(error, 'message')];
  return texts.find((text) => text !== '') ?? String(error);
}

function textOf(error: unknown, name: 'message' | 'code'): string {
  if (typeof error !== 'object' || error === null) return '';
  const text: unknown = Reflect.get(error, name);
  return typeof text === 'string' ? text : '';
}
