import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kysely, type ControlledTransaction } from 'kysely';
import { sqliteAppend } from '../../ledger/audit-append';
import type { WriterPort } from '../../ledger/batch';
import { LedgerError } from '../../ledger/ledger-error';
import { migrate } from '../../ledger/migrations';
import type { Database } from '../../ledger/schema';
import { sqliteDialect } from '../../ledger/sqlite-dialect';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import type { Tx } from '../../ledger/transaction';
import { createWriter } from '../../ledger/writer';

/** What goes wrong with each COMMIT or BEGIN, in their order; `undefined` is nothing. */
type Fault = 'lost before' | 'lost after' | undefined;

const ledger = 'test';
/** Commands that wait always share a transaction, however slow the machine is. */
const LOOSE = { commands: 32, ms: 60_000 };
const unreachable = (detail: string) => new LedgerError('LEDGER_UNREACHABLE', { ledger, detail });

describe('the writer', () => {
  let folder: string;
  let db: Kysely<Database>;
  let commits: Fault[];
  let begins: Fault[];
  let transactions: number;
  let port: WriterPort;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdpoint-writer-'));
    const engine = await sqliteEngine();
    const open = () => Promise.resolve(engine.open(join(folder, 'ledger.db')));
    db = new Kysely<Database>({ dialect: sqliteDialect({ ledger, begin: 'immediate', maxWaitMs: 1_000, open }) });
    await migrate({ db, kind: 'sqlite', ledger });
    [commits, begins, transactions] = [[], [], 0];
    port = {
      kind: 'sqlite',
      ledger,
      source: 'urn:test',
      begin: async () => {
        if (begins.shift() !== undefined) throw unreachable('no server');
        transactions += 1;
        return { db: withFault(await db.startTransaction().execute(), () => commits.shift()), nowMs: 1 };
      },
      append: sqliteAppend(ledger),
    };
  });
  afterEach(async () => {
    await db.destroy();
    await rm(folder, { recursive: true, force: true });
  });

  /** Idempotent as every command is: the row decides, and the fact is written with the row or not at all. */
  const put = (key: string) => async (tx: Tx) => {
    const { numInsertedOrUpdatedRows } = await tx.db
      .insertInto('meta')
      .values({ key, value: 'put' })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 1n) tx.fact({ kind: 'put', operationId: key, body: {} });
    return key;
  };
  const recorded = async () =>
    (await db.selectFrom('audit').select('operation_id').orderBy('seq').execute()).map((row) => row.operation_id);

  it('puts commands that wait into one transaction', async () => {
    const { write } = createWriter(port, LOOSE);
    expect(await Promise.all(['a', 'b', 'c'].map((key) => write(put(key))))).toEqual(['a', 'b', 'c']);
    expect(transactions).toBe(1);
    expect(await recorded()).toEqual(['a', 'b', 'c']);
  });

  it('bounds a transaction to 32 commands', async () => {
    const { write } = createWriter(port, LOOSE);
    await Promise.all(Array.from({ length: 100 }, (_, n) => write(put(String(n)))));
    expect(transactions).toBe(4);
  });

  it('takes no more commands into a transaction when its time is over', async () => {
    const { write } = createWriter(port, { commands: 32, ms: 0 });
    expect(await Promise.all(['a', 'b', 'c'].map((key) => write(put(key))))).toEqual(['a', 'b', 'c']);
    expect(transactions).toBe(3);
  });

  it('answers nobody before COMMIT', async () => {
    const { write } = createWriter(port, LOOSE);
    const answered: string[] = [];
    const first = write(put('a')).then(() => answered.push('a'));
    const second = write(async () => expect(answered).toEqual([]));
    await Promise.all([first, second]);
    expect(transactions).toBe(1);
  });

  it('runs each command alone when COMMIT failed and nothing was recorded', async () => {
    commits = ['lost before'];
    const { write } = createWriter(port, LOOSE);
    expect(await Promise.all(['a', 'b'].map((key) => write(put(key))))).toEqual(['a', 'b']);
    expect(transactions).toBe(3);
    expect(await recorded()).toEqual(['a', 'b']);
  });

  it('runs each command again when COMMIT failed and all was recorded: no fact twice', async () => {
    commits = ['lost after'];
    const { write } = createWriter(port, LOOSE);
    expect(await Promise.all(['a', 'b'].map((key) => write(put(key))))).toEqual(['a', 'b']);
    expect(await recorded()).toEqual(['a', 'b']);
  });

  it('says that a command is perhaps recorded when it cannot be run again', async () => {
    commits = ['lost after'];
    begins = [undefined, 'lost before'];
    const { write } = createWriter(port, LOOSE);
    const [first, second] = ['a', 'b'].map((key) => write(put(key)));
    const failed = {
      code: 'LEDGER_UNCERTAIN',
      message:
        'The ledger test failed while it committed this step: connection lost. The step is recorded as a whole or not at all; ask again, it is never applied twice.',
    };
    await Promise.all([expect(first).rejects.toMatchObject(failed), expect(second).rejects.toMatchObject(failed)]);
    expect(await recorded()).toEqual(['a', 'b']);
  });

  it('says so too where only the COMMIT of its own transaction failed; the other was surely not recorded', async () => {
    const append = port.append;
    let failures = 1;
    port = {
      ...port,
      append: async (...parts) => ((failures -= 1) >= 0 ? Promise.reject(unreachable('audit')) : append(...parts)),
    };
    commits = ['lost after'];
    begins = [undefined, undefined, 'lost before'];
    const { write } = createWriter(port, LOOSE);
    const [first, second] = ['a', 'b'].map((key) => write(put(key)));
    await Promise.all([
      expect(first).rejects.toMatchObject({ code: 'LEDGER_UNCERTAIN' }),
      expect(second).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' }),
    ]);
    expect(await recorded()).toEqual(['a']);
  });

  it('gives up after three COMMITs that failed', async () => {
    commits = Array<Fault>(10).fill('lost before');
    const { write } = createWriter(port, LOOSE);
    await expect(write(put('a'))).rejects.toMatchObject({ code: 'LEDGER_UNCERTAIN' });
    expect(transactions).toBe(4);
    expect(await recorded()).toEqual([]);
  });

  it('refuses all that wait when no transaction can be begun, and works again afterwards', async () => {
    begins = ['lost before'];
    const { write } = createWriter(port, LOOSE);
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => write(put(String(n)))));
    expect(results.every((result) => result.status === 'rejected' && result.reason.code === 'LEDGER_UNREACHABLE')).toBe(
      true,
    );
    expect(await write(put('a'))).toBe('a');
  });

  it('a command that lost a lock runs again in a transaction of its own', async () => {
    const { write } = createWriter(port, LOOSE);
    let tries = 0;
    const unlucky = async (tx: Tx) => {
      tries += 1;
      await put('b')(tx);
      if (tries === 1) throw new LedgerError('LEDGER_BUSY', { ledger, detail: 'deadlock' });
      return tries;
    };
    expect(await Promise.all([write(put('a')), write(unlucky), write(put('c'))])).toEqual(['a', 2, 'c']);
    expect(await recorded()).toEqual(['a', 'c', 'b']);
  });

  it('a lone command that loses its lock each time is told so after three tries', async () => {
    const { write } = createWriter(port, LOOSE);
    let tries = 0;
    const unlucky = write(async () => {
      tries += 1;
      throw new LedgerError('LEDGER_BUSY', { ledger, detail: 'deadlock' });
    });
    await expect(unlucky).rejects.toMatchObject({ code: 'LEDGER_BUSY' });
    expect(tries).toBe(4);
  });

  it('when the audit cannot be written, nothing of the batch is', async () => {
    const append = port.append;
    let failures = 3;
    port = {
      ...port,
      append: async (...parts) => {
        failures -= 1;
        if (failures >= 0) throw unreachable('audit');
        return append(...parts);
      },
    };
    const { write } = createWriter(port, LOOSE);
    const results = await Promise.allSettled(['a', 'b'].map((key) => write(put(key))));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await db.selectFrom('meta').select('key').where('value', '=', 'put').execute()).toEqual([]);
    expect(await write(put('a'))).toBe('a');
  });
});

/** The transaction, with a COMMIT after or before which the connection is lost. */
function withFault(transaction: ControlledTransaction<Database>, next: () => Fault): ControlledTransaction<Database> {
  return new Proxy(transaction, {
    get(target, name): unknown {
      if (name !== 'commit') {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return () => ({
        execute: async () => {
          const fault = next();
          if (fault !== 'lost before') await target.commit().execute();
          if (fault !== undefined) throw unreachable('connection lost');
        },
      });
    },
  });
}
