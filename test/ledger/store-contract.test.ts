import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { readEpoch } from '../../ledger/meta';
import type { Store, Tx } from '../../ledger/transaction';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const fact = (name: string) => ({ kind: 'test', operationId: 'op_1', body: { name } });
const event = (id: string) => ({ id, type: 'dev.holdpoint.test', subject: null, data: { id } });

async function bodies(store: Store): Promise<readonly string[]> {
  const rows = await store.db.selectFrom('audit').select('body').orderBy('seq').execute();
  return rows.map(({ body }) => body);
}

async function eventIds(store: Store): Promise<readonly string[]> {
  const rows = await store.db.selectFrom('outbox').select('event_id').orderBy('position').execute();
  return rows.map((row) => row.event_id);
}

async function addRequest(tx: Tx, { operationId, shortId }: { operationId: string; shortId: string }): Promise<void> {
  const digest = 'sha256:00';
  await tx.db
    .insertInto('requests')
    .values({
      operation_id: operationId,
      revision: 1,
      state: 'pending',
      short_id: shortId,
      requester_key: 'k',
      subject: 's',
      agent: 'a',
      server: 'srv',
      tool: 't',
      binding_digest: digest,
      arguments_digest: digest,
      workflow_id: 'w',
      call_id: 'c',
      rule_id: null,
      card: '{}',
      level: 0,
      opened_at: 1,
      deadline_at: 2,
      due_at: 2,
      closed_at: null,
      closed_reason: null,
    })
    .execute();
}

describe.each(STORE_KINDS)('a %s store', (kind) => {
  let fresh: FreshStore;
  let store: Store;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = 1_000;
    fresh = await freshStore(kind, { clock: () => nowMs });
    store = fresh.store;
  });
  afterEach(() => fresh.remove());

  describe('writing', () => {
    it('answers with the value of the command, after its rows can be read', async () => {
      const answer = await store.write(async (tx) => {
        await tx.db.insertInto('meta').values({ key: 'a', value: '1' }).execute();
        return 'done';
      });
      expect(answer).toBe('done');
      expect(await store.db.selectFrom('meta').select('value').where('key', '=', 'a').execute()).toEqual([
        { value: '1' },
      ]);
    });

    it('reads the clock once a transaction', async () => {
      const times = await store.write(async (tx) => {
        const first = tx.nowMs;
        nowMs = 2_000;
        await sql`select 1`.execute(tx.db);
        return [first, tx.nowMs];
      });
      expect(times).toEqual([1_000, 1_000]);
      expect(await store.nowMs()).toBe(2_000);
    });

    it('keeps neither rows nor facts nor events of a command that throws', async () => {
      const failing = store.write(async (tx) => {
        await tx.db.insertInto('meta').values({ key: 'a', value: '1' }).execute();
        tx.fact(fact('lost'));
        tx.emit(event('lost'));
        throw new RangeError('no');
      });
      await expect(failing).rejects.toThrow(new RangeError('no'));
      expect(await store.db.selectFrom('meta').select('key').where('key', '=', 'a').execute()).toEqual([]);
      expect(await bodies(store)).toEqual([]);
      expect(await eventIds(store)).toEqual([]);
    });

    it('a failing command takes none of those that share its transaction with it', async () => {
      const command = (name: string) => async (tx: Tx) => {
        await tx.db.insertInto('meta').values({ key: name, value: '1' }).execute();
        tx.fact(fact(name));
        tx.emit(event(name));
        if (name === 'c') await sql`select * from nowhere`.execute(tx.db);
        if (name === 'd') throw new RangeError('no');
        return name;
      };
      const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => store.write(command(name))));
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'fulfilled',
        'rejected',
        'rejected',
        'fulfilled',
      ]);
      expect(await bodies(store)).toEqual(['{"name":"a"}', '{"name":"b"}', '{"name":"e"}']);
      expect(await eventIds(store)).toEqual(['a', 'b', 'e']);
      const rows = await store.db.selectFrom('meta').select('key').where('key', '!=', 'epoch').orderBy('key').execute();
      expect(rows).toEqual([{ key: 'a' }, { key: 'b' }, { key: 'e' }]);
    });

    it('a fact or event that cannot be written fails its own command only', async () => {
      const results = await Promise.allSettled([
        store.write(async (tx) => tx.fact(fact('a'))),
        store.write(async (tx) => tx.fact({ ...fact('b'), body: { name: Number.NaN } })),
        store.write(async (tx) => tx.emit({ ...event('c'), data: { half: '\ud800' } })),
        store.write(async (tx) => tx.emit(event('with.full.stop'))),
        store.write(async (tx) => tx.fact(fact('e'))),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
        'fulfilled',
      ]);
      expect(await bodies(store)).toEqual(['{"name":"a"}', '{"name":"e"}']);
      expect(await eventIds(store)).toEqual([]);
    });

    it('an event that was emitted before is not emitted again', async () => {
      await store.write(async (tx) => tx.emit(event('once')));
      await store.write(async (tx) => tx.emit(event('once')));
      expect(await eventIds(store)).toEqual(['once']);
    });

    it('200 commands at once from two handles leave one chain without a gap', async () => {
      const other = await fresh.another();
      const handles = [store, other];
      const write = (n: number) => handles[n % 2]!.write(async (tx) => tx.fact(fact(String(n))));
      await Promise.all(Array.from({ length: 200 }, (_, n) => write(n)));
      const rows = await store.db.selectFrom('audit').select(['seq', 'prev_hash', 'hash']).orderBy('seq').execute();
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
      expect(rows.slice(1).every((row, n) => row.prev_hash === rows[n]!.hash)).toBe(true);
    });

    it('leaves the event loop free while many commands wait', async () => {
      let longestMs = 0;
      let lastMs = performance.now();
      const timer = setInterval(() => {
        longestMs = Math.max(longestMs, performance.now() - lastMs);
        lastMs = performance.now();
      }, 1);
      await Promise.all(Array.from({ length: 1_000 }, () => store.write(async (tx) => tx.fact(fact('x')))));
      clearInterval(timer);
      expect(longestMs).toBeLessThan(500);
    });

    it('a transaction that is over cannot be used', async () => {
      const kept = await store.write(async (tx) => tx);
      await expect(kept.db.selectFrom('meta').selectAll().execute()).rejects.toThrow(
        'Transaction is already committed',
      );
    });

    it('finishes what was given before it closes, and refuses what comes after', async () => {
      const given = store.write(async (tx) => tx.fact(fact('given')));
      const closed = store.close();
      const late = store.write(async (tx) => tx.fact(fact('late')));
      await expect(late).rejects.toMatchObject({ name: 'LedgerError', code: 'LEDGER_CLOSED', retryable: true });
      await Promise.all([given, closed]);
      expect(await bodies(await fresh.another())).toEqual(['{"name":"given"}']);
    });
  });

  it('[TIME2-12] without its audit head a ledger records nothing', async () => {
    await fresh.tamper('delete from audit_heads');
    const writing = store.write(async (tx) => {
      await tx.db.insertInto('meta').values({ key: 'a', value: '1' }).execute();
      tx.fact(fact('a'));
    });
    await expect(writing).rejects.toMatchObject({
      code: 'LEDGER_DAMAGED',
      message: expect.stringContaining('the head of its audit chain is missing. Nothing was recorded and nothing runs'),
    });
    expect(await store.db.selectFrom('meta').select('key').where('key', '=', 'a').execute()).toEqual([]);
  });

  describe('reading', () => {
    it('sees what another process committed, and never what is not committed', async () => {
      const other = await fresh.another();
      let seen: readonly string[] = [];
      await other.write(async (tx) => {
        await tx.db.insertInto('meta').values({ key: 'a', value: '1' }).execute();
        seen = (await store.db.selectFrom('meta').select('key').where('key', '=', 'a').execute()).map(({ key }) => key);
      });
      expect(seen).toEqual([]);
      expect(await store.db.selectFrom('meta').select('key').where('key', '=', 'a').execute()).toEqual([{ key: 'a' }]);
    });

    it('cannot write', async () => {
      const writing = store.db.insertInto('meta').values({ key: 'a', value: '1' }).execute();
      await expect(writing).rejects.toMatchObject({ code: 'LEDGER_READ_ONLY' });
    });
  });

  describe('values', () => {
    it.each([
      ['true', true],
      ['undefined', undefined],
      ['an integer beyond 2^53', 9_007_199_254_740_992],
      ['a fraction', 1.5],
      ['an object', { a: 1 }],
    ])('%s is not bound', async (_name, value) => {
      const writing = store.write((tx) => sql`select ${value} as value`.execute(tx.db));
      await expect(writing).rejects.toThrow(TypeError);
    });

    it('the largest safe integer comes back as itself', async () => {
      await store.write((tx) => tx.db.updateTable('audit_heads').set({ seq: 9_007_199_254_740_991 }).execute());
      expect(await store.db.selectFrom('audit_heads').select('seq').execute()).toEqual([
        { seq: 9_007_199_254_740_991 },
      ]);
    });

    it('a stored integer beyond 2^53 is refused, not rounded', async () => {
      await fresh.tamper('update audit_heads set seq = 9007199254740993');
      await expect(store.db.selectFrom('audit_heads').selectAll().execute()).rejects.toThrow(/9007199254740993/);
    });

    it('texts sort by their bytes', async () => {
      const keys = ['b', 'B', 'a', 'ä', 'A', '_'];
      await store.write((tx) =>
        tx.db
          .insertInto('meta')
          .values(keys.map((key) => ({ key, value: '' })))
          .execute(),
      );
      const rows = await store.db.selectFrom('meta').select('key').where('value', '=', '').orderBy('key').execute();
      expect(rows.map(({ key }) => key)).toEqual(['A', 'B', '_', 'a', 'b', 'ä']);
    });
  });

  describe('schema', () => {
    it('has an epoch, a random UUID that stays', async () => {
      const epoch = await readEpoch(store.db);
      expect(epoch).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(await readEpoch((await fresh.another()).db)).toBe(epoch);
    });

    it('refuses a ledger of a newer release and changes nothing', async () => {
      await fresh.tamper(`insert into ledger_migrations (name, timestamp) values ('9999-later', '2030-01-01')`);
      await expect(fresh.another()).rejects.toMatchObject({
        code: 'LEDGER_VERSION',
        retryable: false,
        message: expect.stringMatching(/it has 9999-later, this release knows up to \d{4}-/),
      });
    });

    it.each(['update audit set body = body', 'delete from audit'])('refuses `%s`', async (statement) => {
      await store.write(async (tx) => tx.fact(fact('a')));
      await expect(store.write((tx) => sql.raw(statement).execute(tx.db))).rejects.toThrow('audit is append-only');
    });

    it('refuses to change or remove decisions and checkpoints', async () => {
      await store.write((tx) => addRequest(tx, { operationId: 'op_1', shortId: 'AAAA2222' }));
      await store.write((tx) =>
        sql`insert into decisions (decision_id, operation_id, revision, reviewer, answer, channel, verified, message, decided_at)
            values ('d', 'op_1', 1, 'r', 'deny', 'cli', 1, '{}', 1)`.execute(tx.db),
      );
      await store.write((tx) => sql`insert into checkpoints values (1, 'h', 1, 'k', 's')`.execute(tx.db));
      for (const statement of [
        "update decisions set answer = 'allow'",
        'delete from decisions',
        'delete from checkpoints',
      ]) {
        await expect(store.write((tx) => sql.raw(statement).execute(tx.db))).rejects.toThrow('append-only');
      }
    });

    it('has one active policy', async () => {
      const insert = (version: number) => (tx: Tx) =>
        sql`insert into policies values (${version}, 'd', 'f', 't', 'c', 'by', 1, 1)`.execute(tx.db);
      await store.write(insert(1));
      await expect(store.write(insert(2))).rejects.toThrow(/unique/i);
    });

    it('a short id is unique among open requests, and free again afterwards', async () => {
      await store.write((tx) => addRequest(tx, { operationId: 'op_1', shortId: 'AAAA2222' }));
      const again = () => store.write((tx) => addRequest(tx, { operationId: 'op_2', shortId: 'AAAA2222' }));
      await expect(again()).rejects.toThrow(/unique/i);
      await store.write((tx) => tx.db.updateTable('requests').set({ state: 'denied' }).execute());
      await again();
    });

    it('counts one answer of a reviewer a revision, once each', async () => {
      await store.write((tx) => addRequest(tx, { operationId: 'op_1', shortId: 'AAAA2222' }));
      const decide = (id: string, answer: string) =>
        store.write((tx) =>
          sql`insert into decisions (decision_id, operation_id, revision, reviewer, answer, channel, verified, message, decided_at)
              values (${id}, 'op_1', 1, 'r', ${answer}, 'cli', 1, '{}', 1) on conflict do nothing`.execute(tx.db),
        );
      const changed = [await decide('d1', 'allow'), await decide('d2', 'allow'), await decide('d3', 'deny')];
      expect(changed.map(({ numAffectedRows }) => numAffectedRows)).toEqual([1n, 0n, 1n]);
    });

    it('a grant can never have more uses than it allows', async () => {
      const insert = store.write((tx) =>
        sql`insert into grants (grant_id, operation_id, revision, requester_key, subject, agent, server, tool,
              binding_digest, terms, uses, max_uses, totals, granted_at, expires_at)
            values ('g', 'op_1', 1, 'k', 's', 'a', 'srv', 't', 'd', '{}', 2, 1, '{}', 1, 2)`.execute(tx.db),
      );
      await expect(insert).rejects.toThrow(/check/i);
    });
  });

  it('the lock of one process delays another only for as long as it is held', async () => {
    const other = await fresh.another();
    let second: Promise<unknown> = Promise.resolve();
    const first = store.write(async (tx) => {
      await tx.db.updateTable('audit_heads').set({ hash: 'h' }).execute();
      second = other.write(async (tx) => tx.fact(fact('second')));
      return Promise.race([second.then(() => 'written'), delay(150, 'waiting')]);
    });
    expect(await first).toBe('waiting');
    await second;
    expect(await bodies(store)).toEqual(['{"name":"second"}']);
  });
});

describe('a postgres store without an injected clock', () => {
  it('has the time of its server, read with the transaction', async () => {
    const { store, remove } = await freshStore('postgres');
    const beforeMs = await store.nowMs();
    const atMs = await store.write(async (tx) => tx.nowMs);
    const afterMs = await store.nowMs();
    expect(Number.isSafeInteger(atMs)).toBe(true);
    expect(beforeMs).toBeLessThanOrEqual(atMs);
    expect(atMs).toBeLessThanOrEqual(afterMs);
    await remove();
  });
});
