import { DatabaseSync } from '@photostructure/sqlite';
import { Pool } from 'pg';
import { inPostgres, inSqlite, once, OPERATION_TABLE } from '../../client/tool';
import type { OperationTransaction } from '../../client/tool';
import type { JsonValue } from '../../core/json';
import { freshDatabase } from '../support/postgres';

interface Place {
  /** Runs an operation whose effect adds a row, or fails as told. */
  run(operationId: string, effect?: (add: () => Promise<void>) => Promise<JsonValue>): Promise<JsonValue>;
  effects(): Promise<number>;
  close(): Promise<void>;
}

const addOne = async (add: () => Promise<void>): Promise<JsonValue> => {
  await add();
  return { rows: 1 };
};

async function sqlitePlace(): Promise<Place> {
  const database = new DatabaseSync(':memory:');
  database.exec(`CREATE TABLE effects (what TEXT); ${OPERATION_TABLE}`);
  const add = async () => {
    database.exec(`INSERT INTO effects VALUES ('x')`);
  };
  return {
    run: (operationId, effect = addOne) => inSqlite(database, (tx) => once(tx, operationId, () => effect(add))),
    effects: async () => database.prepare('SELECT * FROM effects').all().length,
    close: async () => database.close(),
  };
}

async function postgresPlace(): Promise<Place> {
  const fresh = await freshDatabase();
  const pool = new Pool({ connectionString: fresh.url });
  await pool.query(`CREATE TABLE effects (what TEXT); ${OPERATION_TABLE}`);
  return {
    run: (operationId, effect = addOne) =>
      inPostgres(pool, (tx, client) =>
        once(tx, operationId, () =>
          effect(async () => {
            await client.query(`INSERT INTO effects VALUES ('x')`);
          }),
        ),
      ),
    effects: async () => (await pool.query('SELECT * FROM effects')).rows.length,
    close: async () => {
      await pool.end();
      await fresh.drop();
    },
  };
}

describe.each([
  { name: 'SQLite', make: sqlitePlace },
  { name: 'PostgreSQL', make: postgresPlace },
])('once on $name', ({ make }) => {
  let place: Place;
  beforeEach(async () => {
    place = await make();
  });
  afterEach(() => place.close());

  it('gives the recorded result to a second call and runs nothing', async () => {
    expect(await place.run('op_1')).toEqual({ rows: 1 });
    expect(await place.run('op_1', () => Promise.reject(new Error('not reached')))).toEqual({ rows: 1 });
    expect(await place.effects()).toBe(1);
  });

  it('tells operations apart', async () => {
    await place.run('op_1');
    await place.run('op_2');
    expect(await place.effects()).toBe(2);
  });

  it('takes an effect back that fails, so that the operation may be sent again', async () => {
    const failing = place.run('op_1', async (add) => {
      await add();
      throw new Error('disk full');
    });
    await expect(failing).rejects.toThrow('disk full');
    expect(await place.effects()).toBe(0);
    expect(await place.run('op_1')).toEqual({ rows: 1 });
  });

  it('runs one of twenty equal calls at the same instant', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => place.run('op_1')));
    expect(results).toEqual(Array.from({ length: 20 }, () => ({ rows: 1 })));
    expect(await place.effects()).toBe(1);
  });
});

describe('once on PostgreSQL', () => {
  it('does not take a transaction that the server gave up for a committed one', async () => {
    const fresh = await freshDatabase();
    const pool = new Pool({ connectionString: fresh.url });
    await pool.query(OPERATION_TABLE);
    const swallowing = inPostgres(pool, (tx, client) =>
      once(tx, 'op_1', async () => {
        await client.query('SELECT * FROM nowhere').catch(() => undefined);
        return null;
      }).catch(() => 'done'),
    );
    await expect(swallowing).rejects.toThrow('nothing was committed');
    await pool.end();
    await fresh.drop();
  });
});

describe('once', () => {
  it('rejects where an operation is claimed and has no result: whoever wrote that did not use it', async () => {
    const tx: OperationTransaction = { claim: () => false, record: () => undefined, find: () => null };
    await expect(once(tx, 'op_1', () => null)).rejects.toThrow('The operation op_1 was claimed, but no result');
  });
});
