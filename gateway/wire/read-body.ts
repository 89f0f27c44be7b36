import type { IncomingMessage } from 'node:http';
import { TextDecoder } from 'node:util';
import { chunksOf } from '../../activities/http-exchange';
import { MAX_MESSAGE_BYTES, readMessage } from './read-message';
import type { ClientMessage } from '../ports';
import { INVALID_REQUEST, PARSE_ERROR, refusalOf } from './refusal';
import type { Refusal } from './refusal';

/** The text of a request's body, to the byte (a byte order mark included), or the answer to it. */
export type ReadRequestBody =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly refusal: Refusal };

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Reads one message from a POST. Never throws; `refuse` sends what it refuses. */
export async function readRequestBody(req: IncomingMessage): Promise<ReadRequestBody> {
  const types = req.headersDistinct['content-type'] ?? [];
  if (types.length !== 1 || !JSON_TYPE.test(types[0] ?? '')) {
    return refused(415, 'A message is sent as Content-Type: application/json, in UTF-8');
  }
  if ((req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    return refused(415, 'A message is sent without a Content-Encoding');
  }
  const declared = Number(req.headers['content-length'] ?? 0);
  return declared > MAX_MESSAGE_BYTES ? tooLong() : readText(req);
}

export type Post =
  { readonly ok: true; readonly message: ClientMessage } | { readonly ok: false; readonly refusal: Refusal };

/** Reads the one message of JSON-RPC that a POST carries. */
export async function readPost(req: IncomingMessage): Promise<Post> {
  const body = await readRequestBody(req);
  if (!body.ok) return body;
  const read = readMessage(body.text);
  return read.ok ? read : { ok: false, refusal: refusalOf(400, read.detail, { code: read.code, idText: 'null' }) };
}

/** One decoder for all chunks: a character may begin in one and end in the next. */
async function readText(req: IncomingMessage): Promise<ReadRequestBody> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decode = (chunk?: Buffer): string | null => decodedBy(decoder, chunk);
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(req)) {
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) return tooLong();
      const part = decode(chunk);
      if (part === null) return notUtf8();
      text += part;
    }
  } catch {
    return refused(400, 'The connection broke before the end of the message');
  }
  const rest = decode();
  return rest === null ? notUtf8() : { ok: true, text: text + rest };
}

function decodedBy(decoder: TextDecoder, chunk: Buffer | undefined): string | null {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    return null;
  }
}

function tooLong(): ReadRequestBody {
  return refused(413, `A message has at most ${MAX_MESSAGE_BYTES} bytes`);
}

function notUtf8(): ReadRequestBody {
  return refused(400, 'A message is UTF-8 text, and this is not', PARSE_ERROR);
}

function refused(status: number, message: string, code: number = INVALID_REQUEST): ReadRequestBody {
  return { ok: false, refusal: refusalOf(status, message, { code, idText: 'null' }) };
}
