import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { isJsonObject, parseStrictJson } from '../../core/json';
import { startPostgres, type PostgresServer } from '../../test/support/postgres-server';
import type { BenchContext, Measure } from '../bench-context';
import { perSecond, spreadText, type Finding } from '../finding';
import { startProcess } from '../processes';
import { interleave } from '../rounds';
import { scratchFolder } from '../stack';
import { median } from '../statistics';

interface Load {
  readonly measure: string;
  readonly callers: number;
  readonly atLeast: number | null;
  /** An empty ledger's URL. */
  readonly fresh: (run: number) => Promise<string>;
}

/** Full approvals through the ledger's commands, in a process of their own, on an empty ledger each time. */
export const ledger: Measure = {
  name: 'ledger',
  title: 'Ledger alone: full approvals (4 transactions each, with audit and outbox)',
  async run({ scale, progress }: BenchContext): Promise<readonly Finding[]> {
    const folder = await scratchFolder();
    const postgres = await postgresServer();
    try {
      const loads = loadsOn(folder, postgres);
      let run = 0;
      const tasks = loads.map((load) => async () => {
        progress(load.measure);
        return approvalsPerSecond(await load.fresh((run += 1)), { callers: load.callers, durationMs: scale.ledgerMs });
      });
      const rates = await interleave(tasks, scale.ledgerRuns);
      return loads.map((load, index) => line(load, rates[index] ?? []));
    } finally {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function loadsOn(folder: string, postgres: PostgresServer): readonly Load[] {
  const file = (run: number) => Promise.resolve(pathToFileURL(join(folder, `ledger-${run}.db`)).href);
  const database = (run: number) => emptyDatabase(postgres.url, `bench_${process.pid}_${run}`);
  return [
    { measure: 'SQLite, 1 caller', callers: 1, atLeast: 250, fresh: file },
    { measure: 'SQLite, 16 callers in one process', callers: 16, atLeast: 600, fresh: file },
    { measure: 'PostgreSQL, 1 caller', callers: 1, atLeast: 70, fresh: database },
    { measure: 'PostgreSQL, 16 callers in one process', callers: 16, atLeast: null, fresh: database },
  ];
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

async function approvalsPerSecond(
  url: string,
  { callers, durationMs }: { callers: number; durationMs: number },
): Promise<number> {
  const child = await startProcess('ledger-load', [url, String(callers), String(durationMs)]);
  const line = await child.waitForLine(/^\{"approvals"/, durationMs + 60_000);
  await child.exited;
  const parsed = parseStrictJson(line ?? '');
  const { approvals, elapsedMs } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  if (typeof approvals !== 'number' || typeof elapsedMs !== 'number') throw new Error(child.recentOutput());
  return (approvals / elapsedMs) * 1_000;
}

function line({ measure, atLeast }: Load, rates: readonly number[]): Finding {
  return {
    measure,
    holdpoint: spreadText(rates, perSecond),
    compared: null,
    ratio: null,
    bar: atLeast === null ? null : `≥ ${atLeast}/s`,
    met: atLeast === null ? null : median(rates) >= atLeast,
  };
}
