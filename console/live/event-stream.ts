import type { UnderlyingSource } from 'node:stream/web';
import { LedgerError } from '../../ledger/ledger-error';
import type { Log } from '../../ledger/log';
import type { LiveChange, Viewer } from '../ports';
import type { ResumableFeed } from './live-feed';

/** Bounds of one stream, in milliseconds. */
export interface StreamTimes {
  /** A word at least this often, so that nobody on the way takes the connection for dead. */
  readonly heartbeatMs: number;
  /** A reader that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Then the stream ends, and whoever comes back is identified anew. */
  readonly lifetimeMs: number;
}

export interface StreamSource {
  readonly viewer: Viewer;
  readonly live: ResumableFeed;
  readonly log: Log;
  readonly times: StreamTimes;
  /** The last change that the reader saw; null: from now on. */
  readonly from: number | null;
  readonly concerned: (viewer: Viewer, change: LiveChange, newest: number) => Promise<boolean>;
  /** Cuts the connection off; what waits in it is dropped. */
  readonly hangUp: () => void;
  /** Once, however the stream ends. */
  readonly onEnd: () => void;
}

/** When a reader comes back, and a stream whose ledger is away asks again. */
const RETRY_MS = 1_000;
/** A reader that is further behind is told to read everything again. */
const MOST_REPLAYED = 10_000;

/**
 * One reader's stream of server-sent events. It keeps no queue: it remembers how far the reader is, and reads on only
 * when they have taken what came before, so a slow one costs no memory and misses nothing until it is cut off.
 */
export class EventStream implements UnderlyingSource<Uint8Array> {
  private readonly source: StreamSource;
  private readonly endsAtMs: number;
  private position: number | null = null;
  private unsubscribe: (() => void) | null = null;
  private wake: (() => void) | null = null;
  private isTold = false;
  private isOver = false;
  /** Who may see what has changed, or the session has ended: the reader has to be identified anew. */
  private isStale = false;
  private beatAtMs = 0;
  private stall: NodeJS.Timeout;

  constructor(source: StreamSource) {
    this.source = source;
    this.endsAtMs = performance.now() + source.times.lifetimeMs;
    this.stall = this.untilTaken();
    source.live.closing.addEventListener('abort', this.tell);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    clearTimeout(this.stall);
    const text = await this.next();
    if (this.isOver) return;
    if (text === null) {
      this.end();
      controller.close();
      return;
    }
    this.beatAtMs = performance.now() + this.source.times.heartbeatMs;
    controller.enqueue(new TextEncoder().encode(text));
    this.stall = this.untilTaken();
  }

  cancel(): void {
    this.end();
  }

  /** Its reader is nobody any more. */
  stop(): void {
    this.isStale = true;
    this.tell();
  }

  private readonly tell = (): void => {
    this.isTold = true;
    this.wake?.();
  };

  private untilTaken(): NodeJS.Timeout {
    const cutOff = () => {
      this.end();
      this.source.hangUp();
    };
    return setTimeout(cutOff, this.source.times.stallMs).unref();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.stall);
    this.unsubscribe?.();
    this.source.live.closing.removeEventListener('abort', this.tell);
    this.wake?.();
    this.source.onEnd();
  }

  /** What the reader gets next; null is the end. Waits until there is something. */
  private async next(): Promise<string | null> {
    for (;;) {
      const nowMs = performance.now();
      if (this.isOver || this.isStale || this.source.live.closing.aborted || nowMs >= this.endsAtMs) return null;
      try {
        const text = this.position === null ? await this.greet() : await this.read(this.position);
        if (text !== '') return text;
      } catch (error) {
        if (!(error instanceof LedgerError)) return this.failed(error);
        await this.pause(RETRY_MS);
      }
      if (this.position !== null && performance.now() >= this.beatAtMs) return `: here\nid: ${this.position}\n\n`;
      if (!this.isTold) await this.pause(Math.min(this.beatAtMs, this.endsAtMs) - performance.now());
    }
  }

  private failed(error: unknown): null {
    this.source.log.error({ error: String(error) }, 'console.live.streamFailed');
    return null;
  }

  private async greet(): Promise<string> {
    const { live, from } = this.source;
    // First, so that nothing comes between the position and what is told.
    this.unsubscribe ??= live.subscribe(this.tell);
    const newest = await live.latest();
    const isLost = from !== null && (from > newest || newest - from > MOST_REPLAYED);
    this.position = from === null || isLost ? newest : from;
    const start = `retry: ${RETRY_MS}\nid: ${this.position}\n\n`;
    return isLost ? start + eventText({ seq: newest, kind: 'reset', operationId: null }) : start;
  }

  private async read(position: number): Promise<string> {
    this.isTold = false;
    const { live, viewer, concerned } = this.source;
    const changes = await live.after(position);
    const newest = changes.at(-1)?.seq;
    if (newest === undefined) return '';
    // There may be more of them than one reading brings.
    this.isTold = true;
    const concerns = await Promise.all(changes.map((change) => concerned(viewer, change, newest)));
    this.position = newest;
    this.isStale ||= changes.some(({ kind }) => kind === 'policy.applied');
    const texts = changes.filter((_, index) => concerns[index] === true).map(eventText);
    return this.isStale ? `${texts.join('')}id: ${newest}\n\n` : texts.join('');
  }

  private async pause(ms: number): Promise<void> {
    if (this.isOver) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(ms, 0));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = null;
  }
}

function eventText({ seq, kind, operationId }: LiveChange): string {
  return `id: ${seq}\ndata: ${JSON.stringify({ seq, kind, operationId })}\n\n`;
}
