import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

export interface FreshDatabase {
  readonly url: string;
  /** Removes the database, also while something is still connected to it. */
  drop(): Promise<void>;
}

/** An empty PostgreSQL database of its own on the server that the test run started. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const serverUrl = process.env['HOLDPOINT_TEST_POSTGRES'];
  if (serverUrl === undefined) {
    throw new Error('This run started no PostgreSQL: see the table of folders in test/support/global-setup.ts.');
  }
  const name = `holdpoint_${randomBytes(8).toString('hex')}`;
  await execute(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
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
