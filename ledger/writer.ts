import { setImmediate as nextTurn } from 'node:timers/promises';
import { attemptBatch, type Attempt, type Batch, type BatchBounds, type Job, type WriterPort } from './batch';
import { LedgerError, reasonOf } from './ledger-error';
import type { Command } from './transaction';

export interface Writer {
  readonly write: <T>(command: Command<T>) => Promise<T>;
  /** Refuses new commands and waits for those that were given. */
  close(): Promise<void>;
}

const BOUNDS: BatchBounds = { commands: 32, ms: 20 };
const MAX_ATTEMPTS = 3;

/**
 * Group commit: commands that wait are run in one transaction, a savepoint each, with one audit append for all, and are
 * answered after COMMIT. When that fails as a whole, each is run alone.
 */
export function createWriter(port: WriterPort, bounds = BOUNDS): Writer {
  const queue: Job[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // SQLite's calls never wait for anything, so without this the event loop would get no turn between batches.
      await nextTurn();
      await runBatch({ port, queue, bounds });
    }
    draining = undefined;
  }

  return {
    write(command) {
      if (closed) return Promise.reject(new LedgerError('LEDGER_CLOSED', { ledger: port.ledger }));
      return new Promise((resolve, reject) => {
        queue.push({
          run: async (tx) => {
            const value = await command(tx);
            return () => resolve(value);
          },
          refuse: reject,
        });
        draining ??= drain();
      });
    },
    async close() {
      closed = true;
      await draining;
    },
  };
}

async function runBatch({ port, queue, bounds }: Batch): Promise<void> {
  const attempt = await attemptBatch({ port, queue, bounds });
  if (attempt.failedAt === 'begin') {
    // All of them waited for the same lock or server; each in its turn would wait as long again.
    for (const job of queue.splice(0)) job.refuse(attempt.error);
    return;
  }
  for (const answer of attempt.answers) answer();
  const [first, second] = attempt.jobs;
  if (attempt.failedAt === null) await runEachAlone(port, attempt.again);
  else if (first !== undefined && second === undefined && !worthAgain(attempt)) first.refuse(attempt.error);
  else await runEachAlone(port, attempt.jobs, attempt.failedAt === 'commit' ? attempt.error : undefined);
}

/** `uncertain` is the error of a COMMIT that may have recorded these commands already. */
async function runEachAlone(port: WriterPort, jobs: readonly Job[], uncertain?: unknown): Promise<void> {
  let unreachable: Attempt | undefined;
  for (const job of jobs) {
    if (unreachable !== undefined) {
      job.refuse(surfaced(port, unreachable.error, uncertain));
      continue;
    }
    const last = await runAlone(port, job, uncertain);
    if (last.failedAt === 'begin') unreachable = last;
  }
}

/** Runs a command until it is answered or refused, and says how its last transaction ended. */
async function runAlone(port: WriterPort, job: Job, doubt: unknown): Promise<Attempt> {
  let uncertain = doubt;
  for (let attempts = 1; ; attempts += 1) {
    await nextTurn();
    const attempt = await attemptBatch({ port, queue: [job], bounds: BOUNDS });
    for (const answer of attempt.answers) answer();
    if (attempt.failedAt === null) return attempt;
    if (attempt.failedAt === 'commit') uncertain ??= attempt.error;
    if (attempts < MAX_ATTEMPTS && worthAgain(attempt)) continue;
    job.refuse(surfaced(port, attempt.error, uncertain));
    return attempt;
  }
}

/** A failed COMMIT may have been one; a lost lock (a deadlock's victim) is often free the next time. */
function worthAgain({ failedAt, error }: Attempt): boolean {
  return failedAt === 'commit' || (failedAt === 'work' && error instanceof LedgerError && error.code === 'LEDGER_BUSY');
}

function surfaced({ ledger }: WriterPort, error: unknown, uncertain: unknown): unknown {
  if (uncertain === undefined || !(error instanceof LedgerError)) return error;
  const detail = uncertain instanceof LedgerError ? uncertain.reason : reasonOf(uncertain);
  return new LedgerError('LEDGER_UNCERTAIN', { ledger, detail }, uncertain);
}
