import type { IncomingMessage } from 'node:http';
import { chunksOf } from '../../activities/http-exchange';

/** The end of one server-sent event: an empty line, whatever ends a line. */
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/;

/** The events of a stream as they stand in it, each with the empty line that ends it; what is left at the end as well. */
export async function* eventBlocks(response: IncomingMessage): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  for await (const chunk of chunksOf(response)) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = BLANK_LINE.exec(text); end !== null; end = BLANK_LINE.exec(text)) {
      const at = end.index + end[0].length;
      yield text.slice(0, at);
      text = text.slice(at);
    }
  }
  text += decoder.decode();
  if (text !== '') yield text;
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
