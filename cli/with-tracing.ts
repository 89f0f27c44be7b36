import type { Log } from '../ledger/log';
import { startExporter } from '../tracing/exporter';

/** For the exit code to be set and the last lines to be written. */
const ENDING_MS = 250;

/**
 * Runs a part of Holdpoint with its spans exported, where the environment names a collector. `run` leaves nothing open:
 * where the last spans are not taken in time, the process ends without them.
 */
export async function withTracing<T>(
  part: 'worker' | 'gateway' | 'console',
  { env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: Log },
  run: () => Promise<T>,
): Promise<T> {
  const exporter = await startExporter(`holdpoint-${part}`, { env, log });
  try {
    return await run();
  } finally {
    if ((await exporter.stop()) === 'late') setTimeout(() => process.exit(), ENDING_MS).unref();
  }
}
