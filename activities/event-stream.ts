import type { IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import { bodyFault, chunksOf, leave } from './http-exchange';

export interface StreamEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** What ends a stream: `complete` is false where the connection broke. `retryMs` is the server's wish for a resume. */
export interface StreamEnd {
  readonly complete: boolean;
  readonly detail: string;
  readonly retryMs: number | undefined;
}

/**
 * Reads server-sent events until `take` returns true or the stream ends. One event may have `maxBytes` characters.
 * Returns undefined where `take` had enough.
 */
export async function readEvents(
  response: IncomingMessage,
  maxBytes: number,
  take: (event: StreamEvent) => boolean,
): Promise<StreamEnd | undefined> {
  const state: { events: StreamEvent[]; retryMs: number | undefined; tooLong: boolean } = {
    events: [],
    retryMs: undefined,
    tooLong: false,
  };
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent: ({ id, data, event }) => {
      if (event === undefined || event === 'message') state.events.push({ id, data });
    },
    onRetry: (retryMs) => (state.retryMs = retryMs),
    onError: ({ type }) => (state.tooLong ||= type === 'max-buffer-size-exceeded'),
  });
  const end = (complete: boolean, detail: string): StreamEnd => ({ complete, detail, retryMs: state.retryMs });
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const chunk of chunksOf(response)) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (state.events.splice(0).some(take)) {
        leave(response);
        return undefined;
      }
      if (state.tooLong) {
        response.destroy();
        return end(false, `the answer is longer than ${maxBytes} bytes`);
      }
    }
    return end(true, 'the server ended the stream without an answer');
  } catch (error) {
    return end(false, bodyFault(error));
  }
}
