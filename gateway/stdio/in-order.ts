import { setTimeout as delay } from 'node:timers/promises';

/** How long what follows waits for a request to be taken; its answer may depend on what follows. */
const TAKEN_WITHIN_MS = 200;

/** `alone`: nothing else goes before it is done. `notice`: nothing goes before it was taken. */
export type Turn = 'alone' | 'request' | 'notice';

/**
 * Keeps the order in which lines came where HTTP would lose it: a notice goes after the requests before it (it may
 * cancel one) and before all that follows, while requests go side by side.
 */
export class InOrder {
  private gate: Promise<unknown> = Promise.resolve();
  private readonly untaken = new Set<Promise<unknown>>();
  private readonly running = new Set<Promise<void>>();

  /** Runs `work` when its turn has come; it calls `taken` when the other side has what it sent. */
  run(turn: Turn, work: (taken: () => void) => Promise<void>): void {
    let taken = (): void => undefined;
    const isTaken = new Promise<void>((resolve) => (taken = resolve));
    const before = turn === 'request' ? this.gate : Promise.all([this.gate, ...this.untaken]);
    const done = before.then(() => work(taken)).finally(taken);
    this.keep(this.running, done);
    if (turn === 'alone') this.gate = done;
    if (turn === 'notice') this.gate = isTaken;
    if (turn === 'request') {
      const soon = before.then(() => Promise.race([isTaken, delay(TAKEN_WITHIN_MS, undefined, { ref: false })]));
      this.keep(this.untaken, soon);
    }
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private keep<T>(all: Set<Promise<T>>, one: Promise<T>): void {
    all.add(one);
    void one.finally(() => all.delete(one));
  }
}
