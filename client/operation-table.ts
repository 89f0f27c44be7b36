import type { OnStep, OperationTransaction } from './once';

/** The table that the adapters work on, for SQLite and PostgreSQL. Create it before the first call. */
export const OPERATION_TABLE = `CREATE TABLE IF NOT EXISTS holdpoint_operations (
  operation_id TEXT PRIMARY KEY,
  result TEXT,
  applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
)`;

/** The part of a `node:sqlite` database that is used; `@photostructure/sqlite` and `better-sqlite3` have it too. */
export interface SqliteLike {
  exec(sql: string): unknown;
  prepare(sql: string): {
    run(...parameters: string[]): { readonly changes: number | bigint };
    get(...parameters: string[]): unknown;
  };
}

interface PostgresResultLike {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

/** The part of a `pg` client that is used. */
export interface PostgresClientLike {
  query(sql: string, parameters?: string[]): Promise<PostgresResultLike>;
}

/** The part of a `pg` pool that is used. */
export interface PostgresPoolLike<C extends PostgresClientLike & { release(error?: boolean): void }> {
  connect(): Promise<C>;
}

export interface AdapterOptions {
  readonly onStep?: OnStep;
}

const CLAIM = 'INSERT INTO holdpoint_operations (operation_id) VALUES (?) ON CONFLICT DO NOTHING';
const RECORD = 'UPDATE holdpoint_operations SET result = ? WHERE operation_id = ?';
const FIND = 'SELECT result FROM holdpoint_operations WHERE operation_id = ?';

const queues = new WeakMap<SqliteLike, Promise<unknown>>();

/**
 * Runs `work` in a transaction of an SQLite connection, one after another: `once(tx, id, effect)` belongs inside. The
 * effect uses the same connection, and nothing else may use it meanwhile. Commits when `work` resolves, rolls back
 * when it rejects.
 */
export function inSqlite<T>(
  database: SqliteLike,
  work: (tx: OperationTransaction) => Promise<T>,
  { onStep }: AdapterOptions = {},
): Promise<T> {
  const before = queues.get(database) ?? Promise.resolve();
  const done = before.then(() => transactSqlite(database, work, onStep));
  queues.set(
    database,
    done.catch(() => undefined),
  );
  return done;
}

async function transactSqlite<T>(
  database: SqliteLike,
  work: (tx: OperationTransaction) => Promise<T>,
  onStep: OnStep | undefined,
): Promise<T> {
  database.exec('BEGIN IMMEDIATE');
  try {
    const value = await work({
      claim: (operationId) => Number(database.prepare(CLAIM).run(operationId).changes) === 1,
      record: (operationId, result) => database.prepare(RECORD).run(result, operationId),
      find: (operationId) => resultIn(database.prepare(FIND).get(operationId)),
      ...(onStep !== undefined && { onStep }),
    });
    database.exec('COMMIT');
    onStep?.('committed');
    return value;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** An error of the database may have rolled back already. */
function rollBack(database: SqliteLike): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // Nothing is left to take back.
  }
}

/**
 * Runs `work` in a transaction on a connection of a PostgreSQL pool: `once(tx, id, effect)` belongs inside, and the
 * effect uses `client`. Two calls with one id wait for each other. Commits when `work` resolves, rolls back when it
 * rejects.
 */
export async function inPostgres<C extends PostgresClientLike & { release(error?: boolean): void }, T>(
  pool: PostgresPoolLike<C>,
  work: (tx: OperationTransaction, client: C) => Promise<T>,
  { onStep }: AdapterOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query('BEGIN');
    const value = await work(postgresTransaction(client, onStep), client);
    const { command } = await client.query('COMMIT');
    // After an error that the effect kept to itself the server answers COMMIT with ROLLBACK.
    if (command !== 'COMMIT') throw new Error('A statement of the effect had failed, so nothing was committed');
    broken = false;
    onStep?.('committed');
    return value;
  } catch (error) {
    broken = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    );
    throw error;
  } finally {
    client.release(broken);
  }
}

function postgresTransaction(client: PostgresClientLike, onStep: OnStep | undefined): OperationTransaction {
  return {
    claim: async (operationId) => (await client.query(numbered(CLAIM), [operationId])).rowCount === 1,
    record: (operationId, result) => client.query(numbered(RECORD), [result, operationId]),
    find: async (operationId) => resultIn((await client.query(numbered(FIND), [operationId])).rows[0]),
    ...(onStep !== undefined && { onStep }),
  };
}

function numbered(sql: string): string {
  let place = 0;
  return sql.replace(/\?/g, () => `$${(place += 1)}`);
}

function resultIn(row: unknown): string | undefined {
  const result = typeof row === 'object' && row !== null && 'result' in row ? row.result : undefined;
  return typeof result === 'string' ? result : undefined;
}
