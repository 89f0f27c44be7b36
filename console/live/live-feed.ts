import { setMaxListeners } from 'node:events';
import { changesAfter, latestSeq } from '../../ledger/changes';
import type { Log } from '../../ledger/log';
import type { Store } from '../../ledger/transaction';
import type { LiveChange, LiveFeed } from '../ports';

/** How often the ledger is asked, while somebody listens. */
const POLL_MS = 250;
/** How many changes one reading brings. */
const PAGE = 500;
/** How many of the latest changes are kept for those who are a little behind. */
const KEPT = 2_000;

/** The feed, for streams that go on where an earlier one ended. */
export interface ResumableFeed extends LiveFeed {
  /** Aborts when the feed closes: whoever waits for changes waits no longer. */
  readonly closing: AbortSignal;
  /** The newest change that listeners know; every later one is told to whoever listens before this is asked. */
  latest(): Promise<number>;
  /** Changes after `seq`, in their order, at most 500; from memory where they are recent. */
  after(seq: number): Promise<readonly LiveChange[]>;
}

type Listener = (change: LiveChange) => void;

/**
 * Follows the ledger for the whole process: one poll, however many listen, and none while nobody does. A ledger that is
 * away is waited for, and what it recorded meanwhile is told when it is back.
 */
export function openLiveFeed(deps: { readonly store: Store; readonly log: Log }): ResumableFeed {
  return new PollingFeed(deps);
}

class PollingFeed implements ResumableFeed {
  private readonly store: Store;
  private readonly log: Log;
  private readonly listeners = new Set<Listener>();
  private readonly ending = new AbortController();
  readonly closing = this.ending.signal;
  private kept: Kept | null = null;
  private timer: NodeJS.Timeout | null = null;
  private polling: Promise<void> | null = null;
  private isAway = false;

  constructor({ store, log }: { readonly store: Store; readonly log: Log }) {
    this.store = store;
    this.log = log;
    // Every stream listens for the end.
    setMaxListeners(0, this.closing);
  }

  subscribe(listener: Listener): () => void {
    if (this.closing.aborted) return () => undefined;
    // A function of its own, so that one listener may subscribe twice.
    const entry: Listener = (change) => listener(change);
    this.listeners.add(entry);
    if (this.listeners.size === 1) this.start();
    return () => {
      if (this.listeners.delete(entry) && this.listeners.size === 0) this.stop();
    };
  }

  async latest(): Promise<number> {
    if (this.listeners.size === 0) return latestSeq(this.store.db);
    if (this.kept === null) await this.poll();
    if (this.kept !== null) return newestOf(this.kept);
    // The poll failed: whoever asks hears why, or the next poll goes on from here.
    const newest = await latestSeq(this.store.db);
    return newestOf((this.kept ??= { after: newest, changes: [] }));
  }

  async after(seq: number): Promise<readonly LiveChange[]> {
    const { kept } = this;
    if (kept === null || this.listeners.size === 0 || seq < kept.after)
      return changesAfter(this.store.db, { after: seq, limit: PAGE });
    const first = kept.changes.findLastIndex((change) => change.seq <= seq) + 1;
    return kept.changes.slice(first, first + PAGE);
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.stop();
    this.ending.abort();
    await this.polling;
  }

  private start(): void {
    // Nobody listened since, so what is kept ends before a gap; a poll that still runs has not left one.
    if (this.polling === null) this.kept = null;
    void this.poll();
  }

  private stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private poll(): Promise<void> {
    this.stop();
    this.polling ??= this.readNew().finally(() => {
      this.polling = null;
      if (this.listeners.size > 0) this.timer = setTimeout(() => void this.poll(), POLL_MS).unref();
    });
    return this.polling;
  }

  private async readNew(): Promise<void> {
    try {
      const newest = await latestSeq(this.store.db);
      let kept = (this.kept ??= { after: newest, changes: [] });
      while (this.listeners.size > 0 && newestOf(kept) < newest) {
        const changes = await changesAfter(this.store.db, { after: newestOf(kept), limit: PAGE });
        if (changes.length === 0) break;
        this.kept = kept = withNew(kept, changes);
        for (const change of changes) this.tell(change);
      }
      if (this.isAway) this.log.info({ ledger: this.store.name }, 'console.live.ledgerBack');
      this.isAway = false;
    } catch (error) {
      if (!this.isAway) this.log.warn({ ledger: this.store.name, error: String(error) }, 'console.live.ledgerAway');
      this.isAway = true;
    }
  }

  private tell(change: LiveChange): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.log.error({ seq: change.seq, error: String(error) }, 'console.live.listenerFailed');
      }
    }
  }
}

/** The last changes, none missing between them, and the number of the one before them. */
interface Kept {
  readonly after: number;
  readonly changes: readonly LiveChange[];
}

function withNew({ after, changes }: Kept, more: readonly LiveChange[]): Kept {
  const all = [...changes, ...more];
  const kept = all.slice(-KEPT);
  return { after: all[all.length - kept.length - 1]?.seq ?? after, changes: kept };
}

function newestOf({ after, changes }: Kept): number {
  return changes.at(-1)?.seq ?? after;
}
