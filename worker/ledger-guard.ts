import { ScheduleAlreadyRunning, ScheduleNotFoundError, type Client, type ScheduleHandle } from '@temporalio/client';
import { LedgerError } from '../ledger/ledger-error';
import { readHead } from '../ledger/audit-read';
import type { Log } from '../ledger/log';
import { readEpoch } from '../ledger/meta';
import type { Store } from '../ledger/transaction';

/** How far a ledger had come when Temporal last heard of it: its epoch and the number of its newest audit record. */
export interface LedgerMark {
  readonly epoch: string;
  readonly seq: number;
}

export interface LedgerGuardOptions {
  readonly client: Client;
  readonly store: Store;
  readonly taskQueue: string;
  readonly log: Log;
  /** Called once where the ledger turns out to be older than its mark; nothing may be executed from then on. */
  readonly onRestored: (error: LedgerError) => void;
  readonly everyMs?: number;
}

/**
 * Compares the ledger with the mark that Temporal keeps: a restored backup has forgotten what was sent since, so nothing
 * may run on it until an operator has looked. Marks are raised every minute and at the end, so a backup that is at most
 * a minute old can pass. Throws a LedgerError LEDGER_RESTORED.
 */
export async function startLedgerGuard(options: LedgerGuardOptions): Promise<{ stop(): Promise<void> }> {
  const restored = await compare(options);
  if (restored !== null) throw restored;
  const check = async (): Promise<void> => {
    try {
      const why = await compare(options);
      if (why !== null) options.onRestored(why);
    } catch (error) {
      options.log.warn({ error: String(error) }, 'ledger mark not compared');
    }
  };
  const timer = setInterval(() => void check(), options.everyMs ?? 60_000);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await check();
    },
  };
}

type Comparing = Pick<LedgerGuardOptions, 'client' | 'store' | 'taskQueue'>;

async function compare({ client, store, taskQueue }: Comparing, isFirst = true): Promise<LedgerError | null> {
  const mark = await readMark(client, taskQueue);
  const now = await markOf(store);
  if (mark !== null && mark.epoch !== now.epoch) {
    return new LedgerError('LEDGER_RESTORED', { detail: `it is another ledger than the one of epoch ${mark.epoch}` });
  }
  if (mark !== null && mark.seq > now.seq) {
    return new LedgerError('LEDGER_RESTORED', {
      detail: `its audit ends at record ${now.seq}, and record ${mark.seq} was there`,
    });
  }
  if (mark === null && isFirst) {
    return (await createMark(client, taskQueue, now)) ? null : compare({ client, store, taskQueue }, false);
  }
  if (mark === null || mark.seq < now.seq) await writeMark(client, taskQueue, now);
  return null;
}

async function markOf(store: Store): Promise<LedgerMark> {
  const [epoch, head] = await Promise.all([readEpoch(store.db), readHead(store.db)]);
  return { epoch, seq: head?.seq ?? 0 };
}

/** An operator has looked: the ledger as it is now becomes the mark, whatever the mark was. */
export async function acceptLedger(client: Client, store: Store, taskQueue: string): Promise<LedgerMark> {
  const mark = await markOf(store);
  await writeMark(client, taskQueue, mark);
  return mark;
}

/** The mark is the note of a schedule that never fires: kept by Temporal, readable without a worker, without a history. */
function scheduleOf(client: Client, taskQueue: string): ScheduleHandle {
  return client.schedule.getHandle(`holdpoint-ledger/${taskQueue}`);
}

export async function readMark(client: Client, taskQueue: string): Promise<LedgerMark | null> {
  try {
    const { state } = await scheduleOf(client, taskQueue).describe();
    const [epoch, seq] = (state.note ?? '').split(' ');
    return epoch === undefined || seq === undefined ? null : { epoch, seq: Number(seq) };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

async function writeMark(client: Client, taskQueue: string, mark: LedgerMark): Promise<void> {
  try {
    await scheduleOf(client, taskQueue).update((known) => ({ ...known, state: { ...known.state, ...stateOf(mark) } }));
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    if (!(await createMark(client, taskQueue, mark))) await writeMark(client, taskQueue, mark);
  }
}

/** False where another worker that started at the same instant was first; its ledger need not be the same one. */
async function createMark(client: Client, taskQueue: string, mark: LedgerMark): Promise<boolean> {
  try {
    await client.schedule.create({
      scheduleId: scheduleOf(client, taskQueue).scheduleId,
      spec: {},
      action: { type: 'startWorkflow', workflowType: 'ledgerMark', taskQueue, args: [] },
      state: stateOf(mark),
    });
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

function stateOf({ epoch, seq }: LedgerMark): { readonly paused: true; readonly note: string } {
  return { paused: true, note: `${epoch} ${seq}` };
}
