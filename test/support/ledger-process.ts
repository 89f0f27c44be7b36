import { join } from 'node:path';
import { startChild, type Child } from '../../worker/child-process';

/** A process that runs `ledger-child.ts`, and the values that it printed so far. */
export interface LedgerProcess {
  readonly child: Child;
  readonly printed: readonly unknown[];
  /** The last value, once the process ended on its own. */
  result(): Promise<unknown>;
}

export async function startLedgerProcess(mode: string, url: string, argument: unknown = null): Promise<LedgerProcess> {
  const printed: unknown[] = [];
  const started = await startChild({
    command: process.execPath,
    args: [
      '-r',
      join(__dirname, 'ts-hook.cjs'),
      join(__dirname, 'ledger-child.ts'),
      mode,
      url,
      JSON.stringify(argument),
    ],
    onLine: (line) => {
      if (line.startsWith('{')) printed.push(JSON.parse(line));
    },
  });
  if (!started.ok) throw new Error(started.detail);
  const { child } = started;
  return {
    child,
    printed,
    async result() {
      const { code } = await child.exited;
      if (code !== 0) throw new Error(child.recentOutput());
      return printed.at(-1);
    },
  };
}
