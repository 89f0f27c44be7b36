import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortedTransactionError,
  CompiledQuery,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
} from 'kysely';
import type { Pool } from 'pg';
import { CheckedPostgresCompiler } from './checked-compilers';
import { LedgerError } from './ledger-error';
import { postgresFailure } from './postgres-failure';
import type { Database } from './schema';

const GOODBYE_MS = 5_000;

/** The server's clock, in epoch milliseconds. */
const CLOCK = 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms';

const READ_CLOCK = CompiledQuery.raw(CLOCK);

/** Two statements in one round trip. */
const BEGIN = CompiledQuery.raw(`begin; ${CLOCK}`);

interface Clocked {
  readonly now_ms: number;
}

/** The part of pg's client that is used. Several statements in one text give a list of results. */
interface Client {
  query<R extends object>(text: string, values: unknown[]): Promise<ClientResult<R> | ClientResult<R>[]>;
  release(destroy: boolean): void;
}

interface ClientResult<R> {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: R[];
}

export interface PostgresDriverOptions {
  /** A name for messages. */
  readonly ledger: string;
  /** A statement that each connection starts with. */
  readonly setUp?: string;
}

/** Kysely on a pool of pg: typed failures, lost connections dropped, the clock read on the way into a transaction. */
export class PostgresDriver implements Driver {
  readonly #pool: Pool;
  readonly #options: PostgresDriverOptions;
  readonly #prepared = new WeakSet<Client>();
  /** The server's clock as the latest transaction began; the writer has one at a time. */
  beganAtMs = Number.NaN;

  constructor(pool: Pool, options: PostgresDriverOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  async acquireConnection(): Promise<PostgresConnection> {
    const { ledger, setUp } = this.#options;
    const client: Client = await this.#pool.connect().catch((error: unknown) => {
      throw postgresFailure(error, ledger);
    });
    const connection = new PostgresConnection(client, ledger);
    if (setUp === undefined || this.#prepared.has(client)) return connection;
    try {
      await connection.command(setUp);
      this.#prepared.add(client);
      return connection;
    } catch (error) {
      connection.release();
      throw error;
    }
  }

  releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release();
    return Promise.resolve();
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    const { rows } = await connection.executeQuery<Clocked>(BEGIN);
    this.beganAtMs = rows[0]?.now_ms ?? Number.NaN;
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    // The server answers COMMIT of an aborted transaction with ROLLBACK, and not with an error.
    if ((await connection.command('commit')) !== 'COMMIT') throw new AbortedTransactionError();
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    // The server rolls back what it loses the connection of; waiting for its answer would be waiting twice.
    if (!connection.isLost) await connection.command('rollback');
  }

  /** A server that does not answer cannot keep this process from its end. */
  async destroy(): Promise<void> {
    await Promise.race([this.#pool.end(), delay(GOODBYE_MS, undefined, { ref: false })]);
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly #client: Client;
  readonly #ledger: string;
  /** An answer that comes late would be taken for the next one's: such a connection is never used again. */
  isLost = false;

  constructor(client: Client, ledger: string) {
    this.#client = client;
    this.#ledger = ledger;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { command, rowCount, rows } = await this.#query<R & object>(sql, parameters);
    const changes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
    return changes ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async command(text: string): Promise<string> {
    return (await this.#query(text, [])).command;
  }

  release(): void {
    this.#client.release(this.isLost);
  }

  async #query<R extends object>(text: string, values: readonly unknown[]): Promise<ClientResult<R>> {
    try {
      const result = await this.#client.query<R>(text, [...values]);
      if (!Array.isArray(result)) return result;
      const last = result.at(-1);
      if (last === undefined) throw new Error('The server gave no result');
      return last;
    } catch (error) {
      const failure = postgresFailure(error, this.#ledger);
      if (failure instanceof LedgerError && failure.code === 'LEDGER_UNREACHABLE') this.isLost = true;
      throw failure;
    }
  }
}

/** The server's clock, epoch milliseconds. */
export async function serverNowMs(db: Kysely<Database>): Promise<number> {
  const { rows } = await db.executeQuery<Clocked>(READ_CLOCK);
  return rows[0]?.now_ms ?? Number.NaN;
}

/** Kysely's dialect around a driver that the caller keeps. `any` lets the migrator bind the booleans that it needs. */
export function postgresDialect(driver: PostgresDriver, binds: 'checked' | 'any' = 'checked'): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => (binds === 'checked' ? new CheckedPostgresCompiler() : new PostgresQueryCompiler()),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  };
}
