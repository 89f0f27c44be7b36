import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompiledQuery, type ControlledTransaction } from 'kysely';
import { canonicalJson } from '../core/json';
import type { NewFact } from './audit-record';
import { cloudEventJson } from './cloud-event';
import { LedgerError, reasonOf } from './ledger-error';
import type { Database } from './schema';
import type { Command, Store, Tx } from './transaction';

/** An event before it has its place; `body` is the canonical JSON of a CloudEvent. */
export interface NewEvent {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

/** What commands of one transaction left to be written, in their order. */
export interface Collected {
  readonly facts: NewFact[];
  readonly events: NewEvent[];
}

export interface OpenTransaction {
  readonly db: ControlledTransaction<Database>;
  readonly nowMs: number;
}

/** What a writer needs of a store. */
export interface WriterPort {
  readonly kind: Store['kind'];
  /** A name for messages. */
  readonly ledger: string;
  /** The `source` of events. */
  readonly source: string;
  begin(): Promise<OpenTransaction>;
  /** Writes facts and events. It takes the lock of the audit head, so nothing but COMMIT comes after it. */
  append(transaction: OpenTransaction, collected: Collected): Promise<void>;
}

export interface Writer {
  readonly write: <T>(command: Command<T>) => Promise<T>;
  /** Refuses new commands and waits for those that were given. */
  close(): Promise<void>;
}

/** A command that waits for its turn. `run` gives what to do once it is committed: answer the caller. */
interface Job {
  run(tx: Tx): Promise<() => void>;
  refuse(error: unknown): void;
}

/** How one transaction ended. Unless `failedAt` is null nothing of it is recorded (after `commit`: perhaps all of it). */
interface Attempt {
  /** The commands that it had taken. */
  readonly jobs: readonly Job[];
  readonly answers: readonly (() => void)[];
  /** Commands that the store, not their own rule, failed: worth a transaction of their own. */
  readonly again: readonly Job[];
  readonly failedAt: 'begin' | 'work' | 'commit' | null;
  readonly error: unknown;
}

/** When a transaction takes no more commands: on SQLite it holds the event loop until it is over. */
export interface BatchBounds {
  readonly commands: number;
  readonly ms: number;
}

const BOUNDS: BatchBounds = { commands: 32, ms: 20 };
const MAX_ATTEMPTS = 3;

/** It travels as a header and is signed with the text around it, where a full stop would be a delimiter. */
const EVENT_ID = /^[\w:-]{1,200}$/;

const SAVEPOINT = CompiledQuery.raw('savepoint command');
const ROLL_BACK_TO_SAVEPOINT = CompiledQuery.raw('rollback to savepoint command');

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

interface Batch {
  readonly port: WriterPort;
  readonly queue: Job[];
  readonly bounds: BatchBounds;
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
    const last: Attempt = unreachable ?? (await runAlone(port, job, uncertain));
    if (last.failedAt !== 'begin') continue;
    unreachable = last;
    job.refuse(surfaced(port, last.error, uncertain));
  }
}

/** Runs a command until it is answered; only where no transaction could be begun is that left to the caller. */
async function runAlone(port: WriterPort, job: Job, doubt: unknown): Promise<Attempt> {
  let uncertain = doubt;
  for (let attempts = 1; ; attempts += 1) {
    await nextTurn();
    const attempt = await attemptBatch({ port, queue: [job], bounds: BOUNDS });
    if (attempt.failedAt === 'commit') uncertain ??= attempt.error;
    if (attempt.failedAt === 'begin') return attempt;
    for (const answer of attempt.answers) answer();
    if (attempt.failedAt === null) return attempt;
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

/** One transaction with what `queue` holds now, and what it receives meanwhile, within the bounds of a batch. */
async function attemptBatch({ port, queue, bounds }: Batch): Promise<Attempt> {
  const done: Done = { jobs: [], answers: [], again: [] };
  let transaction: OpenTransaction;
  try {
    transaction = await port.begin();
  } catch (error) {
    return { ...done, failedAt: 'begin', error };
  }
  let failedAt: 'work' | 'commit' = 'work';
  try {
    const collected = await runJobs({ port, queue, bounds, transaction, done });
    if (collected.facts.length + collected.events.length > 0) await port.append(transaction, collected);
    failedAt = 'commit';
    await transaction.db.commit().execute();
    return { ...done, failedAt: null, error: undefined };
  } catch (error) {
    // The transaction is lost either way, and a connection that cannot roll back is dropped.
    await transaction.db
      .rollback()
      .execute()
      .catch(() => undefined);
    return { ...done, answers: [], again: [], failedAt, error };
  }
}

interface Done {
  readonly jobs: Job[];
  readonly answers: (() => void)[];
  readonly again: Job[];
}

interface Work extends Batch {
  readonly transaction: OpenTransaction;
  readonly done: Done;
}

async function runJobs({ port, queue, bounds, transaction, done }: Work): Promise<Collected> {
  const all: Collected = { facts: [], events: [] };
  const endMs = performance.now() + bounds.ms;
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    done.jobs.push(job);
    const guarded = done.jobs.length > 1 || queue.length > 0;
    if (guarded) await transaction.db.executeQuery(SAVEPOINT);
    const own: Collected = { facts: [], events: [] };
    try {
      done.answers.push(await job.run(collectingTx(port, transaction, own)));
      all.facts.push(...own.facts);
      all.events.push(...own.events);
    } catch (error) {
      if (!guarded) throw error;
      await transaction.db.executeQuery(ROLL_BACK_TO_SAVEPOINT);
      if (error instanceof LedgerError) done.again.push(job);
      else done.answers.push(() => job.refuse(error));
    }
    if (done.jobs.length >= bounds.commands || performance.now() >= endMs) break;
  }
  return all;
}

function collectingTx(port: WriterPort, { db, nowMs }: OpenTransaction, own: Collected): Tx {
  return {
    kind: port.kind,
    db,
    nowMs,
    // Spelt out here, so that what has no canonical form fails its own command and not the batch.
    fact: ({ kind, operationId, body }) => {
      own.facts.push({ kind, operationId, body: canonicalJson(body) });
    },
    emit: (event) => {
      if (!EVENT_ID.test(event.id)) throw new TypeError(`An event id matches ${EVENT_ID.source}, unlike ${event.id}`);
      own.events.push({
        id: event.id,
        type: event.type,
        body: cloudEventJson({ ...event, source: port.source, timeMs: nowMs }),
      });
    },
  };
}
