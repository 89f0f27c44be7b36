import type { IncomingMessage } from 'node:http';
import { chunksOf } from '../../activities/http-exchange';

/** The end of one server-sent event: an empty line, whatever ends a line. */
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/;
const LONGEST_BLANK = 4;

/** Takes the bytes of a stream apart into its events. */
export class EventSplitter {
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  private parts: string[] = [];
  private pending = 0;
  /** The end of what came before, in which an empty line may have begun. */
  private tail = '';

  /** Characters of an event that has not ended yet. */
  get pendingChars(): number {
    return this.pending;
  }

  /** The events that a chunk completes, as they stand in it, each with the empty line that ends it. */
  push(chunk: Uint8Array): readonly string[] {
    const piece = this.decoder.decode(chunk, { stream: true });
    const seen = this.tail + piece;
    this.parts.push(piece);
    // A long event comes in many chunks: what was looked at before is not looked at again.
    if (!BLANK_LINE.test(seen)) {
      this.pending += piece.length;
      this.tail = seen.slice(1 - LONGEST_BLANK);
      return [];
    }
    let text = this.parts.join('');
    const blocks: string[] = [];
    for (let end = BLANK_LINE.exec(text); end !== null; end = BLANK_LINE.exec(text)) {
      const at = end.index + end[0].length;
      blocks.push(text.slice(0, at));
      text = text.slice(at);
    }
    this.parts = [text];
    this.pending = text.length;
    this.tail = text.slice(1 - LONGEST_BLANK);
    return blocks;
  }

  /** What is left at the end. */
  rest(): string {
    return this.parts.join('') + this.decoder.decode();
  }
}

/**
 * The events of a stream as they stand in it, each with the empty line that ends it; what is left at the end as well.
 * Throws, and leaves the stream, at an event of more than `maxChars`.
 */
export async function* eventBlocks(response: IncomingMessage, maxChars: number): AsyncGenerator<string> {
  const splitter = new EventSplitter();
  for await (const chunk of chunksOf(response)) {
    yield* splitter.push(chunk);
    if (splitter.pendingChars <= maxChars) continue;
    response.destroy();
    throw new Error(`an event is longer than ${maxChars} characters`);
  }
  const rest = splitter.rest();
  if (rest !== '') yield rest;
}

const DATA_LINE = /^data:(?: )?(.*)$/;

/** The data of an event; null where it has none. */
export function dataOf(block: string): string | null {
  const lines = block.split(/\r\n|\n|\r/).flatMap((line) => DATA_LINE.exec(line)?.slice(1, 2) ?? []);
  return lines.length === 0 ? null : lines.join('\n');
}

/** The event with other data, which stands on one line. */
export function withData(block: string, data: string): string {
  const others = block.split(/\r\n|\n|\r/).filter((line) => line !== '' && !DATA_LINE.test(line));
  return [...others, `data: ${data.replace(/[\r\n]+/g, ' ')}`, '', ''].join('\n');
}
