import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { openSqliteStore, type SqliteStoreOptions } from '../../ledger/sqlite';
import { isAtLeast, sqliteEngine } from '../../ledger/sqlite-engine';
import type { Store } from '../../ledger/transaction';
import { recordedLog } from '../support/recorded-log';

const fact = { kind: 'test', operationId: null, body: {} };
const NOBODY = 65_534;

describe('a SQLite ledger', () => {
  let folder: string;
  let path: string;
  const opened: Store[] = [];

  const open = async (options: Partial<SqliteStoreOptions> = {}) => {
    const store = await openSqliteStore({ path, log: recordedLog(), ...options });
    opened.push(store);
    return store;
  };
  const facts = async (store: Store) => (await store.db.selectFrom('audit').select('seq').execute()).length;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdpoint-sqlite-'));
    path = join(folder, 'ledger.db');
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await rm(folder, { recursive: true, force: true });
  });

  it('runs on a SQLite that keeps files whole, and says which', async () => {
    const log = recordedLog();
    await open({ log });
    const engine = await sqliteEngine();
    expect(isAtLeast(engine.version, '3.51.3')).toBe(true);
    expect(log.entries).toEqual([
      { level: 'info', fields: { ledger: path, engine: engine.name, version: engine.version }, event: 'ledger opened' },
    ]);
  });

  it.each([
    ['3.51.3', true],
    ['3.52.0', true],
    ['4.0', true],
    ['3.51.2', false],
    ['3.46.1', false],
    ['3.51', false],
    ['0', false],
  ])('takes SQLite %s: %s', (version, taken) => {
    expect(isAtLeast(version, '3.51.3')).toBe(taken);
  });

  it.each([
    ['journal_mode', 'wal'],
    ['synchronous', 2],
    ['fullfsync', 1],
    ['foreign_keys', 1],
  ])('sets %s to %s when it reads and when it writes', async (pragma, value) => {
    const store = await open();
    const read = sql.raw<Record<string, unknown>>(`pragma ${pragma}`);
    const rows = [...(await read.execute(store.db)).rows, ...(await store.write((tx) => read.execute(tx.db))).rows];
    expect(rows.map((row) => row[pragma])).toEqual([value, value]);
  });

  it('makes files that only their owner can read', async () => {
    const store = await open();
    await store.write(async (tx) => tx.fact(fact));
    const modes = await Promise.all(
      ['', '-wal', '-shm'].map(async (end) => (await stat(`${path}${end}`)).mode & 0o777),
    );
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });

  it('has strict tables', async () => {
    const store = await open();
    const { rows } = await sql<{ name: string; strict: number }>`select name, strict from pragma_table_list
      where schema = 'main' and type = 'table' and name not like 'sqlite_%' and name not like 'ledger_migration%'`.execute(
      store.db,
    );
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter(({ strict }) => strict !== 1)).toEqual([]);
  });

  describe('refuses to open', () => {
    it('where the folder does not exist', async () => {
      await expect(open({ path: join(folder, 'no', 'ledger.db') })).rejects.toMatchObject({
        code: 'LEDGER_UNREACHABLE',
        message: `The ledger ${folder}/no/ledger.db cannot be reached: there is no folder ${folder}/no. Nothing of this step was recorded and nothing runs; start it or correct its address, then try again.`,
      });
    });

    it('a folder', async () => {
      await mkdir(path);
      await expect(open()).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
    });

    it('a file that is not a database, which stays as it was', async () => {
      await writeFile(path, 'version: 1\n'.repeat(100));
      await expect(open()).rejects.toMatchObject({ code: 'LEDGER_DAMAGED', retryable: false });
      expect(await readFile(path, 'utf8')).toBe('version: 1\n'.repeat(100));
    });

    it('the database of another program, which gets no tables', async () => {
      const database = (await sqliteEngine()).open(path);
      database.exec('create table orders (id integer)');
      await expect(open()).rejects.toMatchObject({
        code: 'LEDGER_DAMAGED',
        message: expect.stringContaining('the file holds a table orders of something else'),
      });
      expect(
        database
          .prepare('select name from sqlite_schema')
          .all<{ name: string }>()
          .map(({ name }) => name),
      ).toEqual(['orders']);
      database.close();
    });
  });

  it('[TIME2-12] a full disk: nothing is recorded, the error says so, and it goes on when there is space', async () => {
    const store = await open({ maxPages: 80 });
    const fill = async () => {
      for (;;) await store.write(async (tx) => tx.fact({ ...fact, body: { text: 'x'.repeat(5_000) } }));
    };
    await expect(fill()).rejects.toMatchObject({
      name: 'LedgerError',
      code: 'LEDGER_FULL',
      retryable: true,
      message: `The disk of the ledger ${path} is full. Nothing of this step was recorded and nothing runs; free space, then try again.`,
    });
    const before = await facts(store);
    // A change that needs no new page, with a fact that does: neither may stay.
    const decision = store.write(async (tx) => {
      await tx.db.updateTable('meta').set({ value: 'decided' }).where('key', '=', 'epoch').execute();
      tx.fact({ ...fact, body: { text: 'x'.repeat(50_000) } });
    });
    await expect(decision).rejects.toMatchObject({ code: 'LEDGER_FULL' });
    expect(await facts(store)).toBe(before);
    expect(await store.db.selectFrom('meta').select('key').where('value', '=', 'decided').execute()).toEqual([]);

    const roomier = await open();
    await roomier.write(async (tx) => tx.fact(fact));
    expect(await facts(store)).toBe(before + 1);
  });

  it('[TIME2-12] a batch on a full disk: each command is told, those that fit are recorded', async () => {
    const store = await open({ maxPages: 80 });
    const sizes = [100, 900_000, 100, 900_000, 100];
    const results = await Promise.allSettled(
      sizes.map((size) =>
        store.write(async (tx) =>
          tx.db
            .insertInto('meta')
            .values({ key: `${size}${Math.random()}`, value: 'x'.repeat(size) })
            .execute(),
        ),
      ),
    );
    expect(results.map(codeOf)).toEqual(['recorded', 'LEDGER_FULL', 'recorded', 'LEDGER_FULL', 'recorded']);
    expect(await store.db.selectFrom('meta').select('key').where('key', '!=', 'epoch').execute()).toHaveLength(3);
  });

  it.each(['wal', 'delete'])(
    '[TIME2-12] a read-only file in mode %s: nothing is recorded, the error says what is needed',
    async (mode) => {
      const first = await open();
      await first.write(async (tx) => tx.fact(fact));
      await first.close();
      path = await copyOf(path);
      const database = (await sqliteEngine()).open(path);
      database.exec(`pragma journal_mode = ${mode}`);
      database.close();
      await chmod(path, 0o444);
      await chmod(folder, 0o555);
      await asNobody(async () => {
        // One build of SQLite can read such a ledger, another cannot open it.
        const writing = open().then((store) => store.write(async (tx) => tx.fact(fact)));
        await expect(writing).rejects.toMatchObject({
          code: 'LEDGER_READ_ONLY',
          message: expect.stringContaining(
            'Nothing of this step was recorded and nothing runs; give this process write access',
          ),
        });
      });
      await chmod(folder, 0o755);
      await chmod(path, 0o644);
      expect(await facts(await open())).toBe(1);
    },
  );

  it('[TIME2-12] a lock that is held: the event loop is free, and the error comes after the bound', async () => {
    const store = await open({ maxWaitMs: 400 });
    const holder = (await sqliteEngine()).open(path);
    holder.exec('begin immediate');
    let longestMs = 0;
    let lastMs = performance.now();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 5);
    const startedMs = performance.now();
    const results = await Promise.allSettled([1, 2, 3].map(() => store.write(async (tx) => tx.fact(fact))));
    clearInterval(timer);
    expect(results.map(codeOf)).toEqual(['LEDGER_BUSY', 'LEDGER_BUSY', 'LEDGER_BUSY']);
    const waitedMs = performance.now() - startedMs;
    expect(waitedMs).toBeGreaterThan(395);
    expect(waitedMs).toBeLessThan(1_000);
    expect(longestMs).toBeLessThan(200);

    const next = store.write(async (tx) => tx.fact(fact));
    await delay(50);
    holder.exec('commit');
    holder.close();
    await next;
    expect(await facts(store)).toBe(1);
  });

  it('[TIME2-12] tells a full disk also where the statement has rows', async () => {
    const store = await open({ maxPages: 80 });
    const row = { key: 'a', value: 'x'.repeat(900_000) };
    const returning = store.write((tx) => tx.db.insertInto('meta').values(row).returning('key').execute());
    await expect(returning).rejects.toMatchObject({ code: 'LEDGER_FULL' });
  });

  it('[TIME2-12] cannot be opened while another program has the file for itself, and can afterwards', async () => {
    await (await open()).close();
    path = await copyOf(path);
    const holder = (await sqliteEngine()).open(path);
    holder.exec('pragma locking_mode = exclusive; begin immediate; update audit_heads set seq = seq; commit');
    await expect(open({ maxWaitMs: 50 })).rejects.toMatchObject({ code: 'LEDGER_BUSY' });
    holder.close();
    expect(await facts(await open())).toBe(0);
  });

  it('leaves everything in the one file when it is closed', async () => {
    const store = await open();
    await store.write(async (tx) => tx.fact(fact));
    await store.close();
    expect(await facts(await open({ path: await copyOf(path) }))).toBe(1);
  });

  it('is readable while another process holds the lock for writing', async () => {
    const store = await open();
    const holder = (await sqliteEngine()).open(path);
    holder.exec('begin immediate');
    expect(await facts(store)).toBe(0);
    holder.exec('rollback');
    holder.close();
  });

  it('keeps the prepared statements that are used, not all that ever were', async () => {
    const store = await open();
    for (let n = 0; n < 700; n += 1) await sql.raw(`select ${n} as n`).execute(store.db);
    const { rows } = await sql.raw<{ n: number }>('select 0 as n').execute(store.db);
    expect(rows).toEqual([{ n: 0 }]);
  });
});

async function copyOf(path: string): Promise<string> {
  const copy = `${path}.copy`;
  await copyFile(path, copy);
  return copy;
}

function codeOf(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? result.reason.code : 'recorded';
}

/** Root may write to any file, so as root the work is done as somebody else. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
