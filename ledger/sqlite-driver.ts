import { isNativeError } from 'node:util/types';
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import type { SqliteDatabase, SqliteStatement } from './sqlite-engine';
import { retryWhileBusy, sqliteFailure } from './sqlite-failure';

/** Statements kept prepared a connection; the ledger's own are about 100. */
const MAX_STATEMENTS = 300;

interface Prepared {
  readonly statement: SqliteStatement;
  readonly hasRows: boolean;
}

export interface SqliteDriverOptions {
  /** A name for messages. */
  readonly ledger: string;
  /** `immediate` takes the write lock at once, so that no statement after it can find the file locked. */
  readonly begin: 'immediate' | 'deferred';
  /** How long a lock that others hold is waited for. */
  readonly maxWaitMs: number;
  readonly open: () => Promise<SqliteDatabase>;
}

/** One connection, used by one transaction or statement at a time, first come first served. */
export class SqliteDriver implements Driver {
  readonly #options: SqliteDriverOptions;
  readonly #waiting: (() => void)[] = [];
  #held = false;
  #connection: SqliteConnection | undefined;

  constructor(options: SqliteDriverOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {
    this.#connection = new SqliteConnection(await this.#options.open(), this.#options);
  }

  async acquireConnection(): Promise<SqliteConnection> {
    if (this.#connection === undefined) throw new Error('The driver is not open');
    if (this.#held) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#held = true;
    return this.#connection;
  }

  releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next();
    return Promise.resolve();
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`begin ${this.#options.begin}`));
    connection.enterTransaction();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
    connection.leaveTransaction();
  }

  rollbackTransaction(connection: SqliteConnection): Promise<void> {
    connection.rollBack();
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    if (this.#options.begin === 'immediate') this.#connection?.checkpoint();
    this.#connection?.close();
    return Promise.resolve();
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: SqliteDatabase;
  readonly #ledger: string;
  readonly #maxWaitMs: number;
  readonly #statements = new Map<string, Prepared>();
  #inTransaction = false;
  /** Why SQLite ended the transaction on its own (a full disk does that); what follows would commit one by one. */
  #lost: Error | undefined;

  constructor(database: SqliteDatabase, { ledger, maxWaitMs }: SqliteDriverOptions) {
    this.#database = database;
    this.#ledger = ledger;
    this.#maxWaitMs = maxWaitMs;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#inTransaction) return this.#run(sql, parameters);
    return retryWhileBusy(this.#maxWaitMs, () => this.#run(sql, parameters));
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  enterTransaction(): void {
    this.#inTransaction = true;
  }

  leaveTransaction(): void {
    this.#inTransaction = false;
    this.#lost = undefined;
  }

  rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('rollback');
    } finally {
      this.leaveTransaction();
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** Moves the write-ahead log into the file. One SQLite module does so at its close only after a garbage collection. */
  checkpoint(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(truncate)');
    } catch {
      // Somebody else reads or writes, or the file is read-only: the log stays, and is as good.
    }
  }

  #run<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    if (this.#lost !== undefined) throw this.#lost;
    try {
      const { statement, hasRows } = this.#prepare(sql);
      if (hasRows) return { rows: statement.all<R>(...parameters) };
      return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) };
    } catch (error) {
      const failure = sqliteFailure(error, this.#ledger);
      if (isNativeError(failure) && this.#inTransaction && !this.#database.isTransaction) this.#lost = failure;
      throw failure;
    }
  }

  #prepare(sql: string): Prepared {
    const prepared = this.#statements.get(sql) ?? this.#compile(sql);
    // The map is in order of last use, so that its first is the one to drop.
    this.#statements.delete(sql);
    this.#statements.set(sql, prepared);
    if (this.#statements.size > MAX_STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    return prepared;
  }

  #compile(sql: string): Prepared {
    const statement = this.#database.prepare(sql);
    return { statement, hasRows: statement.columns().length > 0 };
  }
}
