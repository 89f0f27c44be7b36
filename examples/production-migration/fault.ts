import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** What the server does wrong, once: it commits and never answers, commits and hangs up, or does nothing at all. */
export type Fault = 'commitThenSilent' | 'commitThenClose' | 'hang';

const FAULTS: readonly string[] = ['commitThenSilent', 'commitThenClose', 'hang'] satisfies readonly Fault[];

/** The file whose text names the fault of the next migration. It is not among the tools, so no agent can reach it. */
export function faultPath(dataDir: string): string {
  return join(dataDir, 'fault');
}

/** Takes the fault that waits, if any: it happens once. */
export async function takeFault(dataDir: string): Promise<Fault | undefined> {
  const path = faultPath(dataDir);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  await rm(path, { force: true });
  const name = text.trim();
  return isFault(name) ? name : undefined;
}

function isFault(name: string): name is Fault {
  return FAULTS.includes(name);
}
