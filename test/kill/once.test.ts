import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { ONCE_STEPS, OPERATION_TABLE } from '../../client/tool';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'once-'));
  file = join(folder, 'effects.db');
  withDatabase((database) =>
    database.exec(`PRAGMA journal_mode=WAL; CREATE TABLE effects (what TEXT); ${OPERATION_TABLE}`),
  );
});
afterEach(() => rm(folder, { recursive: true }));

function withDatabase<T>(use: (database: InstanceType<typeof DatabaseSync>) => T): T {
  const database = new DatabaseSync(file);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const count = (table: string): number =>
  withDatabase((database) => database.prepare(`SELECT * FROM ${table}`).all().length);

function run(step: string): { signal: NodeJS.Signals | null; stdout: string } {
  const script = join(__dirname, '../support/once-child.cjs');
  return spawnSync(process.execPath, [script, file, 'op_1', step], { encoding: 'utf8' });
}

test.each(ONCE_STEPS)('a tool server killed when %s has done all or nothing, and does it once in the end', (step) => {
  expect(run(step).signal).toBe('SIGKILL');
  const isDone = step === 'committed' ? 1 : 0;
  expect([count('effects'), count('holdpoint_operations')]).toEqual([isDone, isDone]);
  expect(run('none').stdout).toBe('{"done":true}');
  expect([count('effects'), count('holdpoint_operations')]).toEqual([1, 1]);
});
