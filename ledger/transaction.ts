import type { Kysely, Transaction } from 'kysely';
import type { JsonObject } from '../core/json';
import type { Database } from './schema';

/** One fact for the audit chain. `body` holds ids, digests and masked values, never secrets. */
export interface AuditFact {
  readonly kind: string;
  readonly operationId: string | null;
  readonly body: JsonObject;
}

/** One event for the outbox; `id` makes a second emission of the same fact a no-op. */
export interface OutboxEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string | null;
  readonly data: JsonObject;
}

/**
 * What a command works with. `nowMs` is the store's clock, read once per transaction. Facts and events are written with
 * the command or not at all; the audit head is locked last, so `fact` and `emit` only collect.
 */
export interface Tx {
  readonly kind: 'sqlite' | 'postgres';
  readonly db: Transaction<Database>;
  readonly nowMs: number;
  fact(fact: AuditFact): void;
  emit(event: OutboxEvent): void;
}

/** A ledger command: awaits SQL only, and is safe to run again after an error at COMMIT. */
export type Command<T> = (tx: Tx) => Promise<T>;

/** One store (SQLite or PostgreSQL) behind one contract. */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** The ledger's name in messages: its file, or its host and database. Never a password. */
  readonly name: string;
  /** For reading; also sees what other processes committed. */
  readonly db: Kysely<Database>;
  /** Runs `command` in a transaction, possibly with others (group commit), and answers after COMMIT. */
  write<T>(command: Command<T>): Promise<T>;
  /** The store's clock, epoch milliseconds. */
  nowMs(): Promise<number>;
  close(): Promise<void>;
}
