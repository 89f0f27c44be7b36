import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { isJsonObject, parseStrictJson } from '../../core/json';
import { startPostgres, type PostgresServer } from '../../test/support/postgres-server';
import type { BenchContext, Measure } from '../bench-context';
import { undoLater } from '../clean-up';
import { beside, perSecond, type Finding } from '../finding';
import { startProcess } from '../processes';
import { interleave } from '../rounds';
import { scratchFolder } from '../stack';
import { median, ratios } from '../statistics';

interface Load {
  readonly store: string;
  readonly callers: number;
  readonly atLeast: number | null;
  /** An empty ledger's URL; every number is used once. */
  readonly fresh: (number: number) => Promise<string>;
}

/** The ledger's commands in a process of their own, on an empty ledger each time. */
export const ledger: Measure = {
  name: 'ledger',
  title: 'Ledger alone: full approvals (4 transactions, with audit and outbox); compared: 4 transactions of one row',
  async run({ scale, progress }: BenchContext): Promise<readonly Finding[]> {
    const folder = await scratchFolder();
    const removeFolder = undoLater(() => rm(folder, { recursive: true, force: true }));
    const postgres = await postgresServer();
    let count = 0;
    const task = (load: Load, work: 'approvals' | 'commits') => async () => {
      progress(`${nameOf(load)}: ${work}`);
      return roundsPerSecond([await load.fresh((count += 1)), work, String(load.callers), String(scale.ledgerMs)]);
    };
    try {
      const loads = loadsOn(folder, postgres);
      const tasks = loads.flatMap((load) => [task(load, 'approvals'), task(load, 'commits')]);
      const rates = await interleave(tasks, scale.ledgerRuns);
      return loads.map((load, index) => findingOf(load, rates[2 * index] ?? [], rates[2 * index + 1] ?? []));
    } finally {
      await postgres.stop();
      await removeFolder();
    }
  },
};

function loadsOn(folder: string, postgres: PostgresServer): readonly Load[] {
  const file = (number: number) => Promise.resolve(pathToFileURL(join(folder, `ledger-${number}.db`)).href);
  const database = (number: number) => emptyDatabase(postgres.url, `bench_${process.pid}_${number}`);
  return [
    { store: 'SQLite', callers: 1, atLeast: 250, fresh: file },
    { store: 'SQLite', callers: 16, atLeast: 600, fresh: file },
    { store: 'PostgreSQL', callers: 1, atLeast: 70, fresh: database },
    { store: 'PostgreSQL', callers: 16, atLeast: null, fresh: database },
  ];
}

function nameOf({ store, callers }: Load): string {
  return `${store}, ${callers === 1 ? '1 caller' : `${callers} callers in one process`}`;
}

async function postgresServer(): Promise<PostgresServer> {
  const url = process.env['HOLDPOINT_BENCH_POSTGRES_URL'];
  if (url === undefined || url === '') return startPostgres({ durable: true });
  return { url, stop: () => Promise.resolve() };
}

async function emptyDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function roundsPerSecond(args: readonly string[]): Promise<number> {
  const child = await startProcess('ledger-load', args);
  await child.exited;
  const line = await child.waitForLine(/^\{"rounds"/, 0);
  const parsed = parseStrictJson(line ?? '');
  const { rounds, elapsedMs } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  if (typeof rounds !== 'number' || typeof elapsedMs !== 'number') throw new Error(child.recentOutput());
  return (rounds / elapsedMs) * 1_000;
}

function findingOf(load: Load, approvals: readonly number[], commits: readonly number[]): Finding {
  const { atLeast } = load;
  return {
    measure: nameOf(load),
    ...beside(approvals, commits, perSecond),
    ratio: ratios(approvals, commits),
    bar: atLeast === null ? null : `≥ ${atLeast}/s`,
    met: atLeast === null ? null : median(approvals) >= atLeast,
  };
}
