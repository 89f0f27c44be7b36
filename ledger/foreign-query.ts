import { Client } from 'pg';
import { parseStrictJson } from '../core/json';
import type { JsonResult } from '../core/json';
import { sqliteEngine } from './sqlite-engine';

const TIMEOUT_MS = 5_000;
const MOST_BYTES = 1_048_576;

/** What is copied as it is, and the placeholder of the one parameter. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?|\$1/g;

/**
 * The rows of one reading query in a database that belongs to somebody else, as JSON: a time is its ISO text. `query`
 * has one placeholder, `?` or `$1`. Opened for the one query, read-only, and closed. Throws what the database throws.
 * @param database `postgres://…`, or the path of an SQLite file.
 */
export async function queryForeign(database: string, query: string, parameter: string): Promise<JsonResult> {
  const rows = /^postgres(ql)?:\/\//i.test(database)
    ? await queryPostgres(database, withPlaceholder(query, '$1'), parameter)
    : await querySqlite(database.replace(/^(sqlite|file):(\/\/)?/i, ''), withPlaceholder(query, '?'), parameter);
  return parseStrictJson(JSON.stringify(rows, bigintAsText), { maxBytes: MOST_BYTES });
}

function withPlaceholder(query: string, placeholder: string): string {
  return query.replace(PIECES, (piece) => (piece === '?' || piece === '$1' ? placeholder : piece));
}

async function querySqlite(path: string, query: string, parameter: string): Promise<readonly unknown[]> {
  const { open } = await sqliteEngine();
  const database = open(path, { readOnly: true });
  try {
    return database.prepare(query).all(parameter);
  } finally {
    database.close();
  }
}

async function queryPostgres(url: string, query: string, parameter: string): Promise<readonly unknown[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: TIMEOUT_MS,
    statement_timeout: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: 'holdpoint',
  });
  // Without a listener a server that goes away would end this process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin transaction read only');
    const { rows } = await client.query<Record<string, unknown>>(query, [parameter]);
    return rows;
  } finally {
    await client.end();
  }
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
