import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { verifyAudit } from '../../ledger/audit-verify';
import { LedgerError } from '../../ledger/ledger-error';
import { openPostgresStore } from '../../ledger/postgres';
import type { Store, Tx } from '../../ledger/transaction';
import { eventually } from '../support/eventually';
import { startPostgres, type PostgresServer } from '../support/postgres-server';
import { recordedLog } from '../support/recorded-log';
import { freshPlace, type FreshPlace } from '../support/stores';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

const pidOf = async (db: Pick<Tx, 'db'>['db'] | Store['db']) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid;

/** Idempotent: the row decides, and its fact is written with it or not at all. */
const put = (key: string) => async (tx: Tx) => {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto('meta')
    .values({ key, value: 'put' })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) tx.fact({ kind: 'put', operationId: key, body: {} });
};
const recorded = async (store: Store) =>
  (await store.db.selectFrom('audit').select('operation_id as key').execute()).map(({ key }) => key).sort();

describe('a PostgreSQL ledger', () => {
  let place: FreshPlace;
  const opened: Store[] = [];
  const open = async (change: (url: URL) => void = () => undefined) => {
    const url = new URL(place.url);
    change(url);
    const store = await openPostgresStore({ url: url.href, log: recordedLog() });
    opened.push(store);
    return store;
  };

  beforeEach(async () => {
    place = await freshPlace('postgres');
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await place.remove();
  });

  it.each([
    [
      'a port where nothing listens',
      (url: URL) => (url.port = '1'),
      /cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\./,
    ],
    ['a database that is not there', (url: URL) => (url.pathname = '/nowhere'), /database "nowhere" does not exist/],
    ['a wrong password', (url: URL) => (url.password = 'wrong-secret'), /password authentication failed/],
    [
      'a host without an address',
      (url: URL) => (url.hostname = 'nowhere.invalid'),
      /cannot be reached: .*nowhere\.invalid/,
    ],
  ])('%s: says so, and never the password', async (_name, change, message) => {
    const opening = open(change);
    await expect(opening).rejects.toMatchObject({
      code: 'LEDGER_UNREACHABLE',
      message: expect.stringMatching(message),
    });
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringMatching(/secret|password=|:[^/@]+@/) });
  });

  it('a schema that is not there: says so', async () => {
    const opening = open((url) => url.searchParams.set('options', '-c search_path=nowhere'));
    await expect(opening).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
  });

  it('a session that the server ends, idle or in a transaction: the process goes on with another', async () => {
    const [store, killer] = [await open(), await open()];
    const idle = await pidOf(store.db);
    await killer.write((tx) => sql`select pg_terminate_backend(${idle}::int)`.execute(tx.db));
    await eventually(async () => expect(await pidOf(store.db)).not.toBe(idle));

    let tries = 0;
    const pids = await store
      .write(async (tx) => {
        tries += 1;
        const pid = await pidOf(tx.db);
        if (tries === 1) await killer.write((other) => sql`select pg_terminate_backend(${pid}::int)`.execute(other.db));
        await put('a')(tx);
        return pid;
      })
      .catch((error: unknown) => error);
    expect(pids).toMatchObject({ code: 'LEDGER_UNREACHABLE' });
    await store.write(put('a'));
    expect(await recorded(store)).toEqual(['a']);
  });

  it('a command that swallows an error of the server is not taken for recorded', async () => {
    const store = await open();
    const swallowing = store.write(async (tx) => {
      await put('a')(tx);
      await sql`select * from nowhere`.execute(tx.db).catch(() => undefined);
    });
    await expect(swallowing).rejects.toThrow();
    const silent = store.write(async (tx) => {
      await sql`insert into meta values ('b', 'put')`.execute(tx.db);
      await sql`select * from nowhere`.execute(tx.db).catch(() => undefined);
    });
    await expect(silent).rejects.toThrow();
    expect(await store.db.selectFrom('meta').select('key').where('value', '=', 'put').execute()).toEqual([]);
  });

  it('[TIME2-12] a lock that is held: the command is told after the bound that nothing was recorded', async () => {
    const [holder, store] = [await open(), await open((url) => url.searchParams.set('lock_timeout', '100'))];
    const waiting = await holder.write(async (tx) => {
      await tx.db
        .updateTable('audit_heads')
        .set((eb) => ({ seq: eb.ref('seq') }))
        .execute();
      return store.write(put('a')).catch((error: unknown) => error);
    });
    expect(waiting).toMatchObject({
      code: 'LEDGER_BUSY',
      message: expect.stringContaining('canceling statement due to lock timeout. Nothing of this step was recorded'),
    });
    await store.write(put('a'));
    expect(await recorded(store)).toEqual(['a']);
  });

  it('two batches that lock the same rows in opposite order both succeed', async () => {
    const [one, two] = [await open(), await open()];
    await one.write((tx) => sql`insert into meta values ('x', '0'), ('y', '0')`.execute(tx.db));
    let entered = 0;
    const touch = (key: string) => async (tx: Tx) => {
      await sql`update meta set value = (value::int + 1)::text where key = ${key}`.execute(tx.db);
      entered += 1;
      for (let waited = 0; entered < 2 && waited < 100; waited += 1) await delay(5);
    };
    await Promise.all([one.write(touch('x')), one.write(touch('y')), two.write(touch('y')), two.write(touch('x'))]);
    const rows = await one.db
      .selectFrom('meta')
      .select(['key', 'value'])
      .where('key', 'in', ['x', 'y'])
      .orderBy('key')
      .execute();
    expect(rows).toEqual([
      { key: 'x', value: '2' },
      { key: 'y', value: '2' },
    ]);
  });

  describe('behind a network that fails', () => {
    let proxy: TcpProxy;

    beforeEach(async () => {
      const { hostname, port } = new URL(place.url);
      proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    });
    afterEach(() => proxy.cut());
    const through = (more: Record<string, string> = {}) =>
      open((url) => {
        url.host = `127.0.0.1:${proxy.port}`;
        for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
      });

    it('is unreachable while it is cut, in the middle of a batch too, and works again afterwards', async () => {
      const store = await through();
      const results = await Promise.allSettled([
        store.write(put('a')),
        store.write(async (tx) => {
          await proxy.cut();
          await put('b')(tx);
        }),
        store.write(put('c')),
      ]);
      for (const result of results) expect(result).toMatchObject({ status: 'rejected' });
      await expect(store.write(put('d'))).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
      await expect(store.nowMs()).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
      await proxy.mend();
      await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.write(put(key))));
      expect(await recorded(store)).toEqual(['a', 'b', 'c', 'd']);
    });

    it('a server that falls silent: the command fails in time, and its connection is not used again', async () => {
      const store = await through({ query_timeout: '300' });
      const frozen = store.write(async (tx) => {
        proxy.freeze();
        await put('a')(tx);
      });
      await expect(frozen).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
      await store.write(put('a'));
      // The connections for reading were frozen too; each is dropped when it does not answer.
      await eventually(async () => expect(await recorded(store)).toEqual(['a']));
    });
  });
});

describe('a PostgreSQL server that crashes and starts again', () => {
  let server: PostgresServer;
  let store: Store;

  beforeEach(async () => {
    server = await startPostgres();
    store = await openPostgresStore({ url: server.url, log: recordedLog() });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  it('loses no answered command, repeats none, and does not end the processes that use it', async () => {
    const expected = Array.from({ length: 300 }, (_, n) => `k${n}`);
    const queue = [...expected];
    const failures: unknown[] = [];
    const caller = async () => {
      for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
        const command = put(key);
        const attempt = () => store.write(command);
        await eventually(() =>
          attempt().catch((error: unknown) => {
            failures.push(error);
            throw error;
          }),
        );
      }
    };
    const callers = Array.from({ length: 6 }, caller);
    await eventually(async () => expect((await recorded(store)).length).toBeGreaterThan(50));
    // The server answers the death of one of its processes by ending all sessions and recovering from its log.
    process.kill(await pidOf(store.db), 'SIGKILL');
    await Promise.all(callers);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.every((error) => error instanceof LedgerError && error.retryable)).toBe(true);
    await eventually(async () => expect(await recorded(store)).toEqual(expected.sort()));
    expect(await verifyAudit(store, { publicKeys: [] })).toMatchObject({ ok: true, records: 300 });
  });
});
