import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

export interface FreshDatabase {
  readonly url: string;
  /** Removes the database, also while something is still connected to it. */
  drop(): Promise<void>;
}

/** An empty PostgreSQL database of its own on the server that the test run started. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = serverUrl();
  const name = `holdpoint_${randomBytes(8).toString('hex')}`;
  await execute(server, `CREATE DATABASE ${name}`);
  return { url: onServer(name), drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/**
 * The URL of the database that this Jest worker shares with no other: while one process drops a schema, queries of the
 * catalogue by another in the same database may fail.
 */
export async function workerDatabase(): Promise<string> {
  const name = `holdpoint_worker_${process.env['JEST_WORKER_ID'] ?? '0'}`;
  await execute(serverUrl(), `CREATE DATABASE ${name}`).catch((error: unknown) => {
    if (!String(error).includes('already exists')) throw error;
  });
  return onServer(name);
}

function serverUrl(): string {
  const url = process.env['HOLDPOINT_TEST_POSTGRES'];
  if (url !== undefined) return url;
  throw new Error('This run started no PostgreSQL: see the table of folders in test/support/global-setup.ts.');
}

function onServer(database: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.href;
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
