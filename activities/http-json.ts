import type { JsonValue } from '../core/json';
import { exchange, readBody } from './http-exchange';
import { parseJson } from './rpc';
import { limitTime } from './time-limit';

export type JsonAnswer =
  | { readonly ok: true; readonly status: number; readonly value: JsonValue }
  | { readonly ok: false; readonly detail: string };

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;

/** Reads JSON by GET, without redirects. Any status but 200 and 404, and any answer that is not JSON, is no answer. */
export async function getJson(address: string, headers: Readonly<Record<string, string>>): Promise<JsonAnswer> {
  const limit = limitTime(TIMEOUT_MS, []);
  try {
    const url = new URL(address);
    const sent = await exchange({
      url,
      method: 'GET',
      headers: { ...headers, accept: 'application/json' },
      agent: false,
      signal: limit.signal,
    });
    if (!sent.ok) return { ok: false, detail: limit.reason() ?? sent.detail };
    const status = sent.response.statusCode ?? 0;
    const body = await readBody(sent.response, MAX_BYTES);
    if (status !== 200 && status !== 404) return { ok: false, detail: `${url.host} answered HTTP ${status}` };
    if (!body.ok) return { ok: false, detail: limit.reason() ?? body.detail };
    const value = /\bjson\b/i.test(sent.response.headers['content-type'] ?? '') ? parseJson(body.text) : undefined;
    return value === undefined
      ? { ok: false, detail: `${url.host} answered HTTP ${status} without JSON` }
      : { ok: true, status, value };
  } catch {
    // Node refuses such a request before anything is sent; its message may hold the value of a header.
    return { ok: false, detail: 'the address or a header of the look-up is not valid' };
  } finally {
    limit.release();
  }
}
