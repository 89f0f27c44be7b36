import type { IncomingMessage, ServerResponse } from 'node:http';
import { chunksOf } from '../../activities/http-exchange';
import { MAX_MESSAGE_BYTES } from '../wire/read-message';
import { errorText, SERVER_ERROR } from '../wire/refusal';
import { dataOf, eventBlocks, EventSplitter, withData } from './event-blocks';
import { clientHeaders } from './headers';
import { StreamSigns } from './stream-signs';

/** Said where an upstream has ended in the middle of an answer. */
export const UPSTREAM_GONE =
  'The connection to the tool server ended before its answer. Whether the call was carried out is not known: find out before you repeat it';

export interface Relaying {
  readonly upstream: IncomingMessage;
  readonly res: ServerResponse;
  /** Headers beside those that are passed on. */
  readonly headers: Readonly<Record<string, string>>;
  /** The id of the request as it was written; null where nobody waits for an answer of its own. */
  readonly idText: string | null;
  /** A message that a stream begins with. */
  first?: string;
  /** Hears the messages of a stream as they pass; left out where nobody has to. */
  readonly overhear?: (text: string) => void;
}

/** Passes an answer on to the byte, as it comes. */
export function relayBytes({ upstream, res, headers, idText, overhear }: Relaying): void {
  const isStream = isEventStream(upstream);
  res.writeHead(upstream.statusCode ?? 502, { ...clientHeaders(upstream.headers), ...headers });
  if (isStream) res.flushHeaders();
  const signs = new StreamSigns();
  if (isStream) upstream.on('data', (chunk: Buffer) => signs.see(chunk.toString('latin1')));
  if (isStream && overhear !== undefined) tap(upstream, overhear);
  upstream.pipe(res, { end: false });
  upstream.once('end', () => endWhole(res, isStream ? signs : null, idText));
  upstream.once('error', () => {
    endBroken(res, isStream && !signs.isResumable ? idText : null);
  });
}

/** Before the client has a message it was heard here: an answer to it cannot come first. */
function tap(upstream: IncomingMessage, overhear: (text: string) => void): void {
  const splitter = new EventSplitter();
  upstream.on('data', (chunk: Buffer) => {
    for (const block of splitter.push(chunk)) {
      const data = dataOf(block);
      if (data !== null) overhear(data);
    }
    if (splitter.pendingChars > MAX_ANSWER_BYTES) upstream.destroy(new Error('an event of the upstream does not end'));
  });
}

/** What an answer's message is shown as; the same text where nothing has to be changed. */
type Show = (text: string) => string | Promise<string>;

/** Passes an answer on with its messages as they are to be shown; one that nothing changes keeps its bytes. */
export async function relayShown(relaying: Relaying, show: Show): Promise<void> {
  const { upstream, res, headers } = relaying;
  if (isEventStream(upstream)) return relayEvents(relaying, show);
  if (typeOf(upstream) !== 'application/json') {
    relayBytes(relaying);
    return;
  }
  const bytes = await bytesOf(upstream);
  if (bytes === null) {
    res.destroy();
    return;
  }
  const text = bytes.toString('utf8');
  const shown = await show(text);
  const body = shown === text ? bytes : Buffer.from(shown);
  const passed = { ...clientHeaders(upstream.headers), 'content-length': String(body.length) };
  res.writeHead(upstream.statusCode ?? 502, { ...passed, ...headers });
  res.end(body);
}

async function relayEvents({ upstream, res, headers, idText, first, overhear }: Relaying, show: Show): Promise<void> {
  const { 'content-length': _length, ...passed } = clientHeaders(upstream.headers);
  res.writeHead(upstream.statusCode ?? 502, { ...passed, ...headers });
  res.flushHeaders();
  if (first !== undefined) res.write(eventOf(first));
  const signs = new StreamSigns();
  try {
    for await (const block of eventBlocks(upstream, MAX_ANSWER_BYTES)) {
      signs.see(block);
      const data = dataOf(block);
      if (data !== null) overhear?.(data);
      const shown = data === null ? data : await show(data);
      await written(res, shown === null || shown === data ? block : withData(block, shown));
    }
    endWhole(res, signs, idText);
  } catch {
    endBroken(res, signs.isResumable ? null : idText);
  }
}

/** An upstream may also end in good order without its answer, as a proxy in front of it does. */
function endWhole(res: ServerResponse, signs: StreamSigns | null, idText: string | null): void {
  const isLost = signs !== null && !signs.isAnswered && !signs.isResumable;
  if (isLost && idText !== null) endBroken(res, idText);
  else res.end();
}

/** A stream with event ids is resumed by its client; any other would be waited for until its time is over. */
function endBroken(res: ServerResponse, idText: string | null): void {
  if (idText === null) res.destroy();
  else res.end(eventOf(errorText(idText, SERVER_ERROR, UPSTREAM_GONE)));
}

/** A client that reads slowly is waited for; one that has left is not. */
async function written(res: ServerResponse, text: string): Promise<void> {
  if (res.write(text) || res.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    res.on('drain', done).on('close', done);
  });
}

/** Null where the answer is too long, or breaks off. */
async function bytesOf(upstream: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(upstream)) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) {
        upstream.destroy();
        return null;
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return null;
  }
}

const MAX_ANSWER_BYTES = 8 * MAX_MESSAGE_BYTES;

export function isEventStream(response: IncomingMessage): boolean {
  return typeOf(response) === 'text/event-stream';
}

function typeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function eventOf(message: string): string {
  return `\n\nevent: message\ndata: ${message}\n\n`;
}
