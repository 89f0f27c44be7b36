const LONGEST_SIGN = 16;

/**
 * What a stream of events shows of itself while it passes, looked for in its text: reading each message would cost more
 * than passing it on. A message that only speaks of a result counts as an answer, so nobody is told too much.
 */
export class StreamSigns {
  /** Whether it has event ids: then its client resumes it where it breaks off. */
  isResumable = false;
  /** Whether an answer may have passed. */
  isAnswered = false;
  private before = '\n';

  /** Takes the next piece, wherever it begins and ends. */
  see(piece: string): void {
    const text = this.before + piece;
    this.before = text.slice(-LONGEST_SIGN);
    this.isResumable ||= /[\r\n]id:/.test(text);
    this.isAnswered ||= /"(?:result|error)"\s*:/.test(text);
  }
}
