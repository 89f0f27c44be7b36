import { sql } from 'kysely';
import { verifyAudit } from '../../ledger/audit-verify';
import { eventually } from '../support/eventually';
import { startLedgerProcess } from '../support/ledger-process';
import { freshPlace, freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

describe.each(STORE_KINDS)('processes on one %s ledger', (kind) => {
  let fresh: FreshStore;

  beforeEach(async () => {
    fresh = await freshStore(kind);
  });
  afterEach(() => fresh.remove());

  it('six that start at once on an empty ledger all succeed, and it is migrated once', async () => {
    const { url, remove } = await freshPlace(kind);
    const processes = await Promise.all(Array.from({ length: 6 }, () => startLedgerProcess('write', url)));
    const results = await Promise.all(processes.map((process) => process.result()));
    expect(results).toEqual(Array(6).fill({ done: null }));
    await remove();
  });

  it('eight that race for 200 grants: each has one user, and one fact', async () => {
    const grants = 200;
    await fresh.store.write((tx) =>
      sql`insert into grants (grant_id, operation_id, revision, requester_key, subject, agent, server, tool,
            binding_digest, terms, uses, max_uses, totals, granted_at, expires_at)
          ${sql.raw(numbers(grants))} select 'g' || n, 'op_1', 1, 'k', 's', 'a', 'srv', 't', 'd', '{}', 0, 1, '{}', 1, 2 from numbers`.execute(
        tx.db,
      ),
    );
    const argument = { grants, startAtMs: Date.now() + 1_500 };
    const processes = await Promise.all(
      Array.from({ length: 8 }, () => startLedgerProcess('race', fresh.url, argument)),
    );
    const results = (await Promise.all(processes.map((process) => process.result()))) as { done: string[] }[];
    const won = results.flatMap(({ done }) => done);
    expect(won).toHaveLength(grants);
    expect(new Set(won).size).toBe(grants);
    const { uses } = await fresh.store.db
      .selectFrom('grants')
      .select((eb) => eb.fn.sum<number | string>('uses').as('uses'))
      .executeTakeFirstOrThrow();
    expect(Number(uses)).toBe(grants);
    // The grants are this test's own, without a fact of their issue.
    expect(await verifyAudit(fresh.store, { publicKeys: [] })).toMatchObject({ problems: [], records: grants });
  });

  it('one that is killed in mid-batch leaves whole commands only, and all that it had answered', async () => {
    const writer = await startLedgerProcess('batches', fresh.url);
    await eventually(() => expect(writer.printed.length).toBeGreaterThan(100));
    await writer.child.kill9();
    const rows = await fresh.store.db.selectFrom('meta').select('key').where('value', '=', 'pair').execute();
    const facts = await fresh.store.db.selectFrom('audit').select('operation_id as pair').execute();
    const stored = new Set(rows.map(({ key }) => key));
    for (const { pair } of facts) expect(stored.has(`${pair}a`) && stored.has(`${pair}b`)).toBe(true);
    expect(stored.size).toBe(2 * facts.length);
    const answered = writer.printed as { pair: number }[];
    expect(answered.filter(({ pair }) => !stored.has(`${pair}b`))).toEqual([]);
    expect(await verifyAudit(fresh.store, { publicKeys: [] })).toMatchObject({ ok: true, records: facts.length });
    await fresh.store.write(async (tx) => tx.fact({ kind: 'after', operationId: null, body: {} }));
  });
});

function numbers(count: number): string {
  return `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})`;
}
