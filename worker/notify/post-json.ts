import type { JsonObject } from '../../core/json';
import { failureText, retryAfterMs } from '../http-answer';
import type { Attempt } from '../relay-endpoint';
import { failureDetail } from './failure-detail';

export interface Posting {
  readonly url: string;
  readonly body: JsonObject;
  readonly timeoutMs: number;
  /** What must not be in a message of failure. */
  readonly secrets: readonly string[];
}

/** Answers that say nothing of the message itself, so that it is tried again. */
const PASSING = [408, 425, 429];

const MOST_ANSWER_BYTES = 2_000;

/** One POST of JSON. Only a 2xx answer is a delivery; a redirect or any other 4xx is one that will never be. */
export async function postJson({ url, body, timeoutMs, secrets }: Posting): Promise<Attempt> {
  const at = new Date();
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(body),
      signal,
    });
    if (response.ok) {
      await response.body?.cancel();
      return { kind: 'sent' };
    }
    const said = await beginningOf(response);
    const detail = failureDetail(`HTTP ${response.status}${said === '' ? '' : `: ${said}`}`, secrets);
    const isFinal = response.status < 500 && !PASSING.includes(response.status);
    return { kind: 'failed', detail, retryAfterMs: retryAfterMs(response, at), isFinal };
  } catch (error) {
    const text = signal.aborted ? `no answer within ${timeoutMs} ms` : failureText(error);
    return { kind: 'failed', detail: failureDetail(text, secrets), retryAfterMs: null, isFinal: false };
  }
}

/** The reason stands at the beginning of an answer; whatever comes after it is not waited for. */
async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = body?.getReader();
  while (bytes < MOST_ANSWER_BYTES) {
    const chunk: unknown = (await reader?.read())?.value;
    if (!ArrayBuffer.isView(chunk)) break;
    chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    bytes += chunk.byteLength;
  }
  await reader?.cancel();
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MOST_ANSWER_BYTES));
}
