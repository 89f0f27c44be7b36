import type { EventResponse } from '../wire/event-response';

/** A client may open more than one; a connection that broke unseen must not keep it from opening another. */
const MAX_STREAMS = 4;
const MAX_KEPT_CHARS = 4 * 1_024 * 1_024;

/** The streams that a client holds open to hear what belongs to no request of its own, and what waits for one. */
export class StandingStreams {
  private streams: EventResponse[] = [];
  private kept: string[] = [];
  private keptChars = 0;
  private readonly maxKept: number;

  constructor(maxKept: number) {
    this.maxKept = maxKept;
  }

  get anyOpen(): boolean {
    return this.open().length > 0;
  }

  add(stream: EventResponse): void {
    this.streams = [...this.open(), stream];
    if (this.streams.length > MAX_STREAMS) this.streams.shift()?.end();
    stream.open();
    this.flushTo(stream);
  }

  /** True where a stream took it: a message goes to one stream only, the newest. */
  send(message: string): boolean {
    const newest = this.open().at(-1);
    newest?.event(message);
    return newest !== undefined;
  }

  /** Keeps a message until there is a stream; false where too many wait already. */
  keep(message: string): boolean {
    if (this.kept.length >= this.maxKept || this.keptChars + message.length > MAX_KEPT_CHARS) return false;
    this.kept.push(message);
    this.keptChars += message.length;
    return true;
  }

  flushTo(stream: EventResponse): void {
    this.keptChars = 0;
    for (const message of this.kept.splice(0)) stream.event(message);
  }

  keepAlive(): void {
    for (const stream of this.open()) stream.keepAlive();
  }

  end(): void {
    for (const stream of this.streams.splice(0)) stream.end();
    this.kept = [];
  }

  private open(): EventResponse[] {
    return this.streams.filter(({ isOpen }) => isOpen);
  }
}
