import { openStore } from '../../ledger/open-store';
import { LedgerError } from '../../ledger/ledger-error';
import type { Store } from '../../ledger/transaction';
import { recordedLog } from './recorded-log';

/**
 * A process of its own on a ledger: `ledger-child.ts MODE URL [ARGUMENT]`. It prints one line of JSON for each thing that
 * it did.
 */
const MODES: Readonly<Record<string, (store: Store, argument: string) => Promise<unknown>>> = {
  /** Opens the ledger, and with it makes or migrates it. */
  open: async () => 'opened',
  /** Writes one fact. */
  write: (store) =>
    store.write(async (tx) => tx.fact({ kind: 'child', operationId: null, body: { pid: process.pid } })),
  race,
  batches,
};

/** Uses each of the grants `g1` to `gN` if nobody else did, at a time that all children agreed on. */
async function race(store: Store, argument: string): Promise<unknown> {
  const { grants, startAtMs } = JSON.parse(argument) as { grants: number; startAtMs: number };
  while (Date.now() < startAtMs) await new Promise((resolve) => setTimeout(resolve, 1));
  const won: string[] = [];
  const use = (grantId: string) =>
    store.write(async (tx) => {
      const { numUpdatedRows } = await tx.db
        .updateTable('grants')
        .set((eb) => ({ uses: eb('uses', '+', 1) }))
        .where('grant_id', '=', grantId)
        .whereRef('uses', '<', 'max_uses')
        .where('revoked_at', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return;
      tx.fact({ kind: 'used', operationId: grantId, body: { pid: process.pid } });
      won.push(grantId);
    });
  // Eight at a time, so that batches of several processes meet.
  for (let n = 1; n <= grants; n += 8) {
    await Promise.all(Array.from({ length: 8 }, (_, i) => use(`g${n + i}`)));
  }
  return won;
}

/** Writes pairs of rows without an end, several in a batch, and prints each pair that was answered. */
async function batches(store: Store): Promise<never> {
  const pair = async (n: number) => {
    await store.write(async (tx) => {
      await tx.db
        .insertInto('meta')
        .values({ key: `${n}a`, value: 'pair' })
        .execute();
      tx.fact({ kind: 'pair', operationId: `${n}`, body: {} });
      await tx.db
        .insertInto('meta')
        .values({ key: `${n}b`, value: 'pair' })
        .execute();
    });
    print({ pair: n });
  };
  for (let n = 0; ; n += 16) await Promise.all(Array.from({ length: 16 }, (_, i) => pair(n + i)));
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function main([mode = '', url = '', argument = '']: readonly string[]): Promise<void> {
  const run = MODES[mode];
  if (run === undefined) throw new Error(`No mode ${mode}`);
  try {
    const store = await openStore(url, recordedLog());
    print({ done: (await run(store, argument)) ?? null });
    await store.close();
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    print({ code: error.code, message: error.message });
  }
}

void main(process.argv.slice(2));
