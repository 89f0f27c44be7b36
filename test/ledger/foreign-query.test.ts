import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { queryForeign } from '../../ledger/foreign-query';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { freshDatabase } from '../support/postgres';

const TABLE = `CREATE TABLE migrations (operation_id TEXT PRIMARY KEY, applied INTEGER, note TEXT)`;
const ROW = `INSERT INTO migrations VALUES ('op_1', 1, 'it''s ? or $1')`;

interface Place {
  readonly database: string;
  count(): Promise<number>;
  remove(): Promise<void>;
}

async function sqliteFile(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'));
  const path = join(folder, 'their.db');
  const { open } = await sqliteEngine();
  const theirs = open(path);
  theirs.exec(`PRAGMA journal_mode=WAL; ${TABLE}; ${ROW}`);
  return {
    database: path,
    count: () => Promise.resolve(theirs.prepare('SELECT * FROM migrations').all().length),
    remove: async () => {
      theirs.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function postgresDatabase(): Promise<Place> {
  const fresh = await freshDatabase();
  const client = new Client({ connectionString: fresh.url });
  await client.connect();
  await client.query(`${TABLE}; ${ROW}`);
  return {
    database: fresh.url,
    count: async () => (await client.query('SELECT * FROM migrations')).rows.length,
    remove: async () => {
      await client.end();
      await fresh.drop();
    },
  };
}

describe.each([
  { name: 'SQLite', make: sqliteFile },
  { name: 'PostgreSQL', make: postgresDatabase },
])('queryForeign on $name', ({ make }) => {
  let place: Place;
  beforeAll(async () => {
    place = await make();
  });
  afterAll(() => place.remove());

  it.each(['?', '$1'])('binds the id at %s', async (placeholder) => {
    const query = `SELECT applied, note FROM migrations WHERE operation_id = ${placeholder}`;
    expect(await queryForeign(place.database, query, 'op_1')).toEqual({
      ok: true,
      value: [{ applied: 1, note: "it's ? or $1" }],
    });
    expect(await queryForeign(place.database, query, `op_2' OR '1'='1`)).toEqual({ ok: true, value: [] });
  });

  it('leaves texts, names and comments as they are', async () => {
    const query = `SELECT '? $1' AS "a?" /* ? */ FROM migrations WHERE operation_id = ? -- $1`;
    expect(await queryForeign(place.database, query, 'op_1')).toEqual({ ok: true, value: [{ 'a?': '? $1' }] });
  });

  it('cannot write', async () => {
    await expect(queryForeign(place.database, 'DELETE FROM migrations WHERE operation_id = ?', 'op_1')).rejects.toThrow(
      /read-?only/,
    );
    expect(await place.count()).toBe(1);
  });

  it('throws what is wrong with the query', async () => {
    await expect(queryForeign(place.database, 'SELECT * FROM nowhere WHERE id = ?', 'op_1')).rejects.toThrow(/nowhere/);
  });
});

describe('queryForeign', () => {
  it('makes no file where there is none', async () => {
    await expect(queryForeign('/tmp/holdpoint-no-such-file.db', 'SELECT ?', 'op_1')).rejects.toThrow(/open/);
  });

  it('throws where no database listens', async () => {
    await expect(queryForeign('postgres://127.0.0.1:1/x', 'SELECT ?', 'op_1')).rejects.toThrow(/ECONNREFUSED/);
  });
});
