import type { IncomingMessage } from 'node:http';
import { chunksOf } from '../../activities/http-exchange';

/** The end of one server-sent event: an empty line, whatever ends a line. */
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/;

/** Takes the bytes of a stream apart into its events. */
export class EventSplitter {
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  private text = '';

  /** The events that a chunk completes, as they stand in it, each with the empty line that ends it. */
  push(chunk: Uint8Array): readonly string[] {
    this.text += this.decoder.decode(chunk, { stream: true });
    const blocks: string[] = [];
    for (let end = BLANK_LINE.exec(this.text); end !== null; end = BLANK_LINE.exec(this.text)) {
      const at = end.index + end[0].length;
      blocks.push(this.text.slice(0, at));
      this.text = this.text.slice(at);
    }
    return blocks;
  }

  /** What is left at the end. */
  rest(): string {
    return this.text + this.decoder.decode();
  }
}

/** The events of a stream as they stand in it, each with the empty line that ends it; what is left at the end as well. */
export async function* eventBlocks(response: IncomingMessage): AsyncGenerator<string> {
  const splitter = new EventSplitter();
  for await (const chunk of chunksOf(response)) yield* splitter.push(chunk);
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
