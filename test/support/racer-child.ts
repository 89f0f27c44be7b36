import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Decision, type Holdpoint } from '../../client';
import { createLedger, type Ledger } from '../../ledger/ledger';
import { LedgerError } from '../../ledger/ledger-error';
import { openStore } from '../../ledger/open-store';
import { recordedLog } from './recorded-log';

type Command = 'recordDecision' | 'advanceRequest' | 'withdraw' | 'dispatch' | 'openCalls' | 'revokeGrant';

/** One command on the ledger of `url`; its arguments are plain data, so that they pass a process boundary. */
type LedgerJob = {
  [Name in Command]: {
    readonly url: string;
    readonly command: Name;
    readonly args: Readonly<Parameters<Ledger[Name]>>;
  };
}[Command];

/** A decision, sent to the turn of its request as a reviewer's client does. */
interface DecideJob {
  readonly address: string;
  readonly taskQueue: string;
  readonly workflowId: string;
  readonly decision: Decision;
}

export type Job = LedgerJob | DecideJob;

/** `atMs`: the instant at which all racers of a round begin. */
export interface Round {
  readonly round: number;
  readonly atMs: number;
  readonly job: Job;
}

export interface Ran {
  readonly round: number;
  readonly value?: unknown;
  readonly error?: string;
}

const ledgers = new Map<string, Promise<Ledger>>();
const clients = new Map<string, Promise<Holdpoint>>();

/** Everything that takes time is done before the instant. */
async function prepare(job: Job): Promise<() => Promise<unknown>> {
  if ('url' in job) {
    const ledger = await kept(ledgers, job.url, async () =>
      createLedger(await openStore(job.url, recordedLog()), { defaultTrust: 'namespace' }),
    );
    const command = ledger[job.command] as (...args: readonly unknown[]) => Promise<unknown>;
    return () => command(...job.args);
  }
  const { address, taskQueue, workflowId, decision } = job;
  const place = { address, namespace: 'default', taskQueue };
  const client = await kept(clients, `${address} ${taskQueue}`, () => connect(place));
  return () => client.decide(workflowId, decision);
}

function kept<T>(known: Map<string, Promise<T>>, key: string, open: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? open();
  known.set(key, found);
  return found;
}

async function run({ round, atMs, job }: Round): Promise<Ran> {
  try {
    const go = await prepare(job);
    await delay(Math.max(0, atMs - Date.now() - 2));
    // A timer is not exact to the millisecond; a race is.
    while (Date.now() < atMs);
    return { round, value: (await go()) ?? null };
  } catch (error) {
    return { round, error: error instanceof LedgerError ? error.code : String(error) };
  }
}

if (require.main === module) {
  process.on('message', (message) => void run(message as Round).then((ran) => process.send?.(ran)));
  // Nothing here outlives the test.
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}
