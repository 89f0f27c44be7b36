import type { CallState } from '../../core/call-state';
import type { Hold } from './hold';

export interface Waiting {
  /** Settles when the turn is over, rejects where it cannot be told or asked. */
  readonly closed: Promise<void>;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  readonly waitForMs: number;
}

/**
 * Waits until the call ends in this process (its state), its turn is over, the client has left, or its time is over
 * (null: the ledger has the rest). A caller that was there when its tool was started here stays until the tool answers;
 * one that came later is told that it is in progress.
 */
export function waitForEnd(hold: Hold, { closed, signal, waitForMs }: Waiting): Promise<CallState | null> {
  return new Promise((resolve, reject) => {
    let overdue = false;
    const cameLater = hold.running;
    const stopListening = hold.listen((state) => {
      if (state.status === 'ended') done(state);
      else if (overdue) done(null);
    });
    const timer = setTimeout(() => {
      overdue = true;
      if (!hold.running || cameLater) done(null);
    }, waitForMs);
    const left = (): void => done(null);
    const stop = (): void => {
      clearTimeout(timer);
      stopListening();
      signal.removeEventListener('abort', left);
    };
    const done = (state: CallState | null): void => {
      stop();
      resolve(state);
    };
    signal.addEventListener('abort', left);
    closed
      .then(() => done(null))
      .catch((error: unknown) => {
        stop();
        reject(error instanceof Error ? error : new Error(String(error)));
      });
  });
}
