import { CompiledQuery, type ControlledTransaction } from 'kysely';
import { canonicalJson } from '../core/json';
import type { NewFact } from './audit-record';
import { cloudEventJson } from './cloud-event';
import { LedgerError } from './ledger-error';
import type { Database } from './schema';
import type { Store, Tx } from './transaction';

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

/** A command that waits for its turn. `run` gives what to do once it is committed: answer the caller. */
export interface Job {
  run(tx: Tx): Promise<() => void>;
  refuse(error: unknown): void;
}

/** How one transaction ended. Unless `failedAt` is null nothing of it is recorded (after `commit`: perhaps all of it). */
export interface Attempt {
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

export interface Batch {
  readonly port: WriterPort;
  readonly queue: Job[];
  readonly bounds: BatchBounds;
}

/** It travels as a header and is signed with the text around it, where a full stop would be a delimiter. */
const EVENT_ID = /^[\w:-]{1,200}$/;

const SAVEPOINT = CompiledQuery.raw('savepoint command');
const ROLL_BACK_TO_SAVEPOINT = CompiledQuery.raw('rollback to savepoint command');

/** One transaction with what `queue` holds now, and what it receives meanwhile, within the bounds of a batch. */
export async function attemptBatch({ port, queue, bounds }: Batch): Promise<Attempt> {
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
