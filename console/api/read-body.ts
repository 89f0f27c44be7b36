import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { every } from 'hono/combine';
import { parseStrictJson } from '../../core/json';
import type { Env } from '../ports';
import { problem } from './problem';

const MAX_BODY_BYTES = 65_536;

const TOO_LARGE = `A body has at most ${MAX_BODY_BYTES} bytes.`;
const NOT_JSON = 'Send the body as Content-Type: application/json, in UTF-8 and without Content-Encoding.';

/**
 * Before a body is parsed: it is JSON by its header, within the limit, and read alike by every reader, so that a name
 * given twice never means one answer here and another one elsewhere.
 */
export const readBody: MiddlewareHandler<Env> = every(
  (async (c, next) => {
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = c.req.header();
    const isJson = /^application\/json\s*(;\s*charset=("?)utf-8\2\s*)?$/i.test(type.trim());
    if (!isJson || encoding.toLowerCase() !== 'identity')
      return problem({ code: 'UNSUPPORTED_MEDIA_TYPE', detail: NOT_JSON });
    await next();
    return undefined;
  }) satisfies MiddlewareHandler<Env>,
  bodyLimit({ maxSize: MAX_BODY_BYTES, onError: () => problem({ code: 'BODY_TOO_LARGE', detail: TOO_LARGE }) }),
  (async (c, next) => {
    const text = decoded(await c.req.arrayBuffer());
    const json = text === null ? NOT_UTF8 : parseStrictJson(text, { maxBytes: MAX_BODY_BYTES, maxDepth: 16 });
    if (!json.ok) {
      const errors = [{ in: 'body', field: '', detail: json.detail }] as const;
      return problem({ code: 'INVALID_REQUEST', detail: `The body is not JSON: ${json.detail}`, errors });
    }
    await next();
    return undefined;
  }) satisfies MiddlewareHandler<Env>,
);

const NOT_UTF8 = { ok: false, detail: 'it is not UTF-8' } as const;

function decoded(bytes: ArrayBuffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
