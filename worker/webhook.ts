import { Webhook } from 'standardwebhooks';
import { failureText, retryAfterMs } from './http-answer';
import type { Attempt, RelayEndpoint } from './relay-endpoint';

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

interface WebhookMessage {
  /** The same on each try. */
  readonly id: string;
  readonly body: string;
}

const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

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

/** A webhook as the relay serves it. Throws a TypeError for settings that could not work. */
export function webhookEndpoint(settings: WebhookEndpoint): RelayEndpoint {
  const checked = checkEndpoint(settings);
  const { id, wants } = checked;
  return {
    ...{ id, channel: 'webhook', wants, pace: id },
    attempt: ({ eventId, body }, timeoutMs) => sendWebhook(checked, { message: { id: eventId, body }, timeoutMs }),
  };
}

/** One attempt: a CloudEvent in structured mode, signed after Standard Webhooks. Only a 2xx answer is a delivery. */
async function sendWebhook(
  { url, signers }: CheckedEndpoint,
  { message, timeoutMs }: { readonly message: WebhookMessage; readonly timeoutMs: number },
): Promise<Attempt> {
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
    if (response.ok) return { kind: 'sent' };
    const detail = `HTTP ${response.status}`;
    return { kind: 'failed', detail, retryAfterMs: retryAfterMs(response, at), isFinal: false };
  } catch (error) {
    const detail = signal.aborted ? `no answer within ${timeoutMs} ms` : failureText(error);
    return { kind: 'failed', detail, retryAfterMs: null, isFinal: false };
  }
}

function typeFilter(types: readonly string[] | undefined): (type: string) => boolean {
  if (types === undefined) return () => true;
  return (type) =>
    types.some((wanted) => (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted));
}
