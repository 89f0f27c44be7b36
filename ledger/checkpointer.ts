import type { KeyObject } from 'node:crypto';
import { readHead } from './audit-read';
import { signCheckpoint, type Checkpoint } from './checkpoint';
import { reasonOf } from './ledger-error';
import type { Log } from './log';
import type { Store, Tx } from './transaction';

export interface CheckpointerOptions {
  readonly store: Store;
  /** Ed25519 private key. It is never in the database: who can change the chain must not be able to sign it. */
  readonly key: KeyObject;
  readonly log: Log;
  /** Records after which the head is signed: 1,000 by default. */
  readonly everyRows?: number;
  /** Time after which it is signed if it moved at all: 60 s by default. */
  readonly everyMs?: number;
  /** How often that is looked at: 1 s by default. */
  readonly pollMs?: number;
}

export interface Checkpointer {
  /** Signs the head, unless it is signed already. */
  checkpoint(): Promise<Checkpoint | null>;
  /** Signs the head a last time. Failures are logged. */
  stop(): Promise<void>;
}

/**
 * Signs the audit head from time to time, and sends a copy out through the outbox and the log. Several processes may do
 * so for one ledger: each head is signed once.
 */
export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const { store, key, log, everyRows = 1_000, everyMs = 60_000, pollMs = 1_000 } = options;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer = schedule();

  async function checkpoint(): Promise<Checkpoint | null> {
    const signed = await store.write((tx) => signHead(tx, key));
    if (signed !== null) log.info(signed, 'audit checkpoint');
    return signed;
  }

  async function isDue(): Promise<boolean> {
    const [head, last] = await Promise.all([
      readHead(store.db),
      store.db.selectFrom('checkpoints').select(['seq', 'at']).orderBy('seq', 'desc').limit(1).executeTakeFirst(),
    ]);
    const rows = (head?.seq ?? 0) - (last?.seq ?? 0);
    if (rows <= 0) return false;
    return rows >= everyRows || (await store.nowMs()) - (last?.at ?? 0) >= everyMs;
  }

  async function attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      log.warn({ detail: reasonOf(error) }, 'audit checkpoint failed');
    }
  }

  function schedule(): NodeJS.Timeout {
    const poll = () => {
      running = attempt(async () => ((await isDue()) ? checkpoint() : null)).then(() => {
        if (!stopped) timer = schedule();
      });
    };
    return setTimeout(poll, pollMs).unref();
  }

  return {
    checkpoint,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
      await attempt(checkpoint);
    },
  };
}

async function signHead(tx: Tx, key: KeyObject): Promise<Checkpoint | null> {
  const head = await readHead(tx.db);
  if (head === null || head.seq === 0) return null;
  const checkpoint = signCheckpoint({ ...head, at: tx.nowMs }, key);
  const { seq, hash, at, keyId, signature } = checkpoint;
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto('checkpoints')
    .values({ seq, hash, at, key_id: keyId, signature })
    .onConflict((conflict) => conflict.column('seq').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) return null;
  tx.emit({
    id: `checkpoint:${seq}`,
    type: 'dev.holdpoint.audit.checkpoint',
    subject: null,
    data: { seq, hash, at, keyId, signature },
  });
  return checkpoint;
}
