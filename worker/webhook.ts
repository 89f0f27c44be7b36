import { Webhook } from 'standardwebhooks';

/** Where events are sent. */
export interface WebhookEndpoint {
  /** The name under which its state is kept: a new address goes on where the old one was. */
  readonly id: string;
  readonly url: string;
  /** `whsec_` and base64 of 24 to 64 bytes. While a secret is replaced, the new one and the old one. */
  readonly secrets: readonly string[];
  /** Types that are sent; one that ends in `.*` stands for all below it. All types by default. */
  readonly types?: readonly string[];
}

/** An endpoint whose settings keep the rules. */
export interface CheckedEndpoint {
  readonly id: string;
  readonly url: URL;
  readonly signers: readonly Webhook[];
  readonly wants: (type: string) => boolean;
}

export interface WebhookMessage {
  /** The same on each try. */
  readonly id: string;
  readonly body: string;
}

export type WebhookAnswer =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly detail: string;
      /** What the receiver asks for, or null. */
      readonly retryAfterMs: number | null;
    };

const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Throws a TypeError, without the secret in its text, for settings that could not work. */
export function checkEndpoint({ id, url, secrets, types }: WebhookEndpoint): CheckedEndpoint {
  if (!/^[\w-]{1,64}$/.test(id))
    throw new TypeError(`The webhook id ${JSON.stringify(id)} is not 1 to 64 of A-Z a-z 0-9 _ -`);
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol) || address.username !== '') {
    throw new TypeError(`The webhook ${id} needs an http or https address without user and password`);
  }
  const isSecret = (text: string) => {
    const { length } = Buffer.from(text.replace('whsec_', ''), 'base64');
    return SECRET.test(text) && length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES;
  };
  if (secrets.length === 0 || !secrets.every(isSecret)) {
    throw new TypeError(`The webhook ${id} needs secrets of the form whsec_ and base64 of 24 to 64 bytes`);
  }
  return { id, url: address, signers: secrets.map((secret) => new Webhook(secret)), wants: typeFilter(types) };
}

/** One attempt: a CloudEvent in structured mode, signed after Standard Webhooks. Only a 2xx answer is a delivery. */
export async function sendWebhook(
  { url, signers }: CheckedEndpoint,
  { message, timeoutMs }: { readonly message: WebhookMessage; readonly timeoutMs: number },
): Promise<WebhookAnswer> {
  const { id, body } = message;
  const at = new Date();
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      // Following a redirect would send the event to somebody whom the operator did not name.
      redirect: 'manual',
      headers: {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signers.map((signer) => signer.sign(id, at, body)).join(' '),
      },
      body,
      signal,
    });
    await response.body?.cancel();
    if (response.ok) return { ok: true };
    return { ok: false, detail: `HTTP ${response.status}`, retryAfterMs: retryAfterMs(response, at) };
  } catch (error) {
    const detail = signal.aborted ? `no answer within ${timeoutMs} ms` : failureText(error);
    return { ok: false, detail, retryAfterMs: null };
  }
}

function typeFilter(types: readonly string[] | undefined): (type: string) => boolean {
  if (types === undefined) return () => true;
  return (type) =>
    types.some((wanted) => (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted));
}

function retryAfterMs({ headers }: Response, at: Date): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - at.getTime();
  return Number.isFinite(waitMs) ? Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS) : null;
}

/** `fetch failed` says nothing: its cause does. Errors of fetch are of Node's own realm, so this asks for what they have. */
function failureText(error: unknown): string {
  const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined;
  const texts = [textOf(cause, 'message'), textOf(cause, 'code'), textOf(error, 'message')];
  return texts.find((text) => text !== '') ?? String(error);
}

function textOf(error: unknown, name: 'message' | 'code'): string {
  if (typeof error !== 'object' || error === null) return '';
  const text: unknown = Reflect.get(error, name);
  return typeof text === 'string' ? text : '';
}
