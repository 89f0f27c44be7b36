import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { World } from './demo-world';

const call = z.object({
  atMs: z.number(),
  tool: z.string(),
  arguments: z.looseObject({ operation_id: z.string().optional() }),
});

/** A call as the tool server wrote it down when it arrived. */
export type ReceivedCall = z.infer<typeof call>;

/** What the tool server received, by its own record. */
export async function receivedCalls({ dataDir }: World, tool: string): Promise<readonly ReceivedCall[]> {
  const text = await readFile(join(dataDir, 'calls.jsonl'), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => call.parse(JSON.parse(line))).filter((entry) => entry.tool === tool);
}

/** The schema version of the production database, from the database itself. */
export function schemaVersion({ production }: World): number {
  const [row] = production.prepare('PRAGMA user_version').all<{ readonly user_version: number }>();
  return row?.user_version ?? -1;
}

/** The columns of a table of the production database. */
export function columnsOf({ production }: World, table: string): readonly string[] {
  const query = production.prepare('SELECT name FROM pragma_table_info(?)');
  return query.all<{ readonly name: string }>(table).map(({ name }) => name);
}

/** The migrations that are committed in the production database, by operation id. */
export function appliedMigrations({ production }: World): readonly string[] {
  const query = production.prepare('SELECT operation_id FROM holdpoint_operations ORDER BY applied_at');
  return query.all<{ readonly operation_id: string }>().map(({ operation_id: id }) => id);
}

/** Changes the schema behind everybody's back, as a colleague with a database shell would. */
export function changeByHand({ production }: World, sql: string, version: number): void {
  production.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${version}; COMMIT`);
}
