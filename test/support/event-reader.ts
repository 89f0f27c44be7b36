import { createParser } from 'eventsource-parser';
import type { LiveChange } from '../../console/ports';
import { eventually } from './eventually';

/** A reader of a stream of server-sent events that keeps what it was told. */
export interface EventReader {
  readonly status: number;
  readonly changes: readonly LiveChange[];
  readonly comments: readonly string[];
  readonly retryMs: readonly number[];
  /** Everything as it came. */
  text(): string;
  /** The last id that the stream gave, with data or without. */
  lastId(): string;
  /** When the stream is over, however it ends. */
  readonly ended: Promise<void>;
  /** Waits until so many changes are there, and answers them. */
  until(count: number): Promise<readonly LiveChange[]>;
  close(): void;
}

export async function readEvents(url: string, headers: Readonly<Record<string, string>>): Promise<EventReader> {
  const hangUp = new AbortController();
  const response = await fetch(url, { headers, signal: hangUp.signal });
  const changes: LiveChange[] = [];
  const comments: string[] = [];
  const retryMs: number[] = [];
  let text = '';
  const parser = createParser({
    onEvent: ({ data }) => changes.push(JSON.parse(data) as LiveChange),
    onComment: (comment) => comments.push(comment),
    onRetry: (ms) => retryMs.push(ms),
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      const piece = decoder.decode(bytes, { stream: true });
      text += piece;
      parser.feed(piece);
    }
  };
  const ended = read().catch(() => undefined);
  return {
    status: response.status,
    ...{ changes, comments, retryMs, ended },
    text: () => text,
    lastId: () => [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '',
    until: (count) =>
      eventually(() => {
        if (changes.length < count) throw new Error(`${changes.length} changes of ${count}: ${text}`);
        return changes;
      }),
    close: () => hangUp.abort(),
  };
}
