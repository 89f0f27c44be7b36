import type { IncomingMessage } from 'node:http';
import { chunksOf, leave } from '../../activities/http-exchange';
import type { ClientMessage } from '../ports';
import { MAX_MESSAGE_BYTES, readMessage } from '../read-message';
import type { Refusal } from './refusal';

export type Post =
  | { readonly kind: 'message'; readonly message: ClientMessage }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The client broke off; nobody is there to be told. */
  | { readonly kind: 'gone' };

/** Reads the one message that a POST carries, byte for byte: what is not UTF-8 is refused, never replaced. */
export async function readPost(req: IncomingMessage): Promise<Post> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(req)) {
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) {
        leave(req);
        return tooLong();
      }
      parts.push(chunk);
    }
  } catch {
    return { kind: 'gone' };
  }
  const text = textOf(Buffer.concat(parts));
  if (text === undefined) return invalid(-32700, 'The message is not UTF-8 text');
  const read = readMessage(text);
  return read.ok ? { kind: 'message', message: read.message } : invalid(read.code, read.detail);
}

/** A byte order mark is no part of a JSON text, so it is not taken off. */
function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function invalid(code: number, message: string): Post {
  return { kind: 'refused', refusal: { status: 400, code, message } };
}

function tooLong(): Post {
  const message = `A message has at most ${MAX_MESSAGE_BYTES} bytes; send less`;
  return { kind: 'refused', refusal: { status: 413, code: -32600, message, headers: { Connection: 'close' } } };
}
