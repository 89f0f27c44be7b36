import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../../activities/http-exchange';
import { MAX_MESSAGE_BYTES } from '../read-message';
import { errorText } from '../stdio/refusal';
import { dataOf, eventBlocks, EventSplitter, withData } from './event-blocks';
import { clientHeaders } from './headers';

/** An upstream that ended in the middle of an answer: whether the call was carried out cannot be told. */
export const UPSTREAM_GONE = -32000;
const GONE =
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
  const seen = { eventId: false };
  if (isStream) upstream.on('data', (chunk: Buffer) => (seen.eventId ||= chunk.includes('id:')));
  if (isStream && overhear !== undefined) tap(upstream, overhear);
  upstream.pipe(res, { end: false });
  upstream.once('end', () => res.end());
  upstream.once('error', () => {
    // A stream with event ids is resumed by its client; any other would be waited for until its time is over.
    if (isStream && !seen.eventId && idText !== null) res.end(eventOf(errorText(idText, UPSTREAM_GONE, GONE)));
    else res.destroy();
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
  });
}

/** Passes an answer to `tools/list` on, its tools shown as the gate shows them. */
export async function relayList(
  { upstream, res, headers, first, overhear }: Relaying,
  show: (text: string) => Promise<string>,
): Promise<void> {
  const { 'content-length': _length, ...passed } = clientHeaders(upstream.headers);
  if (!isEventStream(upstream)) {
    const body = await readBody(upstream, MAX_LIST_BYTES);
    if (!body.ok) {
      res.destroy();
      return;
    }
    const shown = Buffer.from(await show(body.text));
    res.writeHead(upstream.statusCode ?? 502, { ...passed, ...headers, 'content-length': shown.length });
    res.end(shown);
    return;
  }
  res.writeHead(upstream.statusCode ?? 502, { ...passed, ...headers });
  res.flushHeaders();
  if (first !== undefined) res.write(eventOf(first));
  try {
    for await (const block of eventBlocks(upstream)) {
      const data = dataOf(block);
      if (data !== null) overhear?.(data);
      const shown = data === null ? data : await show(data);
      res.write(shown === null || shown === data ? block : withData(block, shown));
    }
    res.end();
  } catch {
    res.destroy();
  }
}

const MAX_LIST_BYTES = 8 * MAX_MESSAGE_BYTES;

export function isEventStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream';
}

function eventOf(message: string): string {
  return `\n\nevent: message\ndata: ${message}\n\n`;
}
