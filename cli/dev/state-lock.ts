import { join } from 'node:path';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { reasonOf } from '../../ledger/ledger-error';

/**
 * Holds a state folder for this process: a lock of the operating system, which ends with the process however that ends.
 * Null: another process has it.
 */
export async function lockStateFolder(stateDir: string): Promise<{ release(): void } | null> {
  const { open } = await sqliteEngine();
  const database = open(join(stateDir, 'lock'));
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (/locked|busy/i.test(reasonOf(error))) return null;
    throw error;
  }
  return {
    release: () => {
      database.close();
    },
  };
}
