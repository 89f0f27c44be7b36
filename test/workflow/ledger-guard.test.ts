import { acceptLedger, readMark, startLedgerGuard } from '../../worker/ledger-guard';
import { freshStore, type FreshStore } from '../support/stores';
import type { Store } from '../../ledger/transaction';
import { startHarness, type Harness } from '../support/harness';

describe('a ledger that was restored from a backup', () => {
  let harness: Harness;
  let older: FreshStore;
  beforeAll(async () => {
    harness = await startHarness({ worker: false });
    older = await freshStore('sqlite');
  }, 30_000);
  afterAll(async () => {
    await older.remove();
    await harness.close();
  });

  const guard = (store: Store = harness.store, taskQueue = harness.taskQueue) =>
    startLedgerGuard({
      client: harness.holdpoint.client,
      store,
      taskQueue,
      log: harness.deps.log,
      onRestored: () => undefined,
    });

  test('is found by its epoch or by an audit that ends too early, and runs again once an operator accepts it', async () => {
    const first = await guard();
    await harness.applyPolicy({ quorum: 2 });
    await first.stop();
    expect(await readMark(harness.holdpoint.client, harness.taskQueue)).toMatchObject({ seq: 2 });

    await expect(guard(older.store)).rejects.toMatchObject({
      code: 'LEDGER_RESTORED',
      message: expect.stringContaining('another ledger') as string,
    });

    await acceptLedger(harness.holdpoint.client, older.store, harness.taskQueue);
    const accepted = await guard(older.store);
    await accepted.stop();
  });

  test('is found although its epoch is the same', async () => {
    await older.store.write((tx) => {
      for (const kind of ['one', 'two']) tx.fact({ kind, operationId: null, body: {} });
      return Promise.resolve();
    });
    const before = await guard(older.store);
    await before.stop();
    await older.tamper('delete from audit where seq = 2', 'update audit_heads set seq = 1');
    await expect(guard(older.store)).rejects.toThrow('its audit ends at record 1, and record 2 was there');
  });

  test('is told from workers that start at the same instant: each of them starts, once the first mark is written', async () => {
    for (let round = 0; round < 5; round += 1) {
      const taskQueue = `${harness.taskQueue}-${round}`;
      const guards = await Promise.all(Array.from({ length: 8 }, () => guard(harness.store, taskQueue)));
      await Promise.all(guards.map((each) => each.stop()));
      await expect(guard(older.store, taskQueue)).rejects.toMatchObject({ code: 'LEDGER_RESTORED' });
    }
  });

  test('is not taken for the first one where two start at the same instant on different ledgers', async () => {
    const taskQueue = `${harness.taskQueue}-two`;
    const started = await Promise.allSettled([guard(harness.store, taskQueue), guard(older.store, taskQueue)]);
    const refused = started.filter((each) => each.status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'LEDGER_RESTORED' } }]);
    for (const each of started) if (each.status === 'fulfilled') await each.value.stop();
  });
});
