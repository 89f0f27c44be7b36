const NEWLINE = 0x0a;

/**
 * Puts chunks together to lines. A line is joined once, so that a long one costs its length and not its square; one
 * beyond `maxBytes` is skipped to its end and given as undefined.
 */
export class LineReader {
  private readonly maxBytes: number;
  private readonly take: (line: string | undefined) => void;
  private parts: Buffer[] = [];
  private bytes = 0;

  constructor(maxBytes: number, take: (line: string | undefined) => void) {
    this.maxBytes = maxBytes;
    this.take = take;
  }

  add(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.keep(chunk.subarray(from, at));
      this.end();
      from = at + 1;
    }
    this.keep(chunk.subarray(from));
  }

  private keep(part: Buffer): void {
    this.bytes += part.length;
    if (this.bytes > this.maxBytes) this.parts = [];
    else if (part.length > 0) this.parts.push(part);
  }

  private end(): void {
    const line = this.bytes > this.maxBytes ? undefined : Buffer.concat(this.parts).toString();
    this.parts = [];
    this.bytes = 0;
    this.take(line);
  }
}
