import type { Log } from '../ledger/log';
import { startExporter } from '../tracing/exporter';

/** Runs a part of Holdpoint with its spans exported, where the environment names a collector. */
export async function withTracing<T>(
  part: 'worker' | 'gateway' | 'console',
  process: { readonly env: NodeJS.ProcessEnv; readonly log: Log },
  run: () => Promise<T>,
): Promise<T> {
  const exporter = await startExporter(`holdpoint-${part}`, process);
  try {
    return await run();
  } finally {
    await exporter.stop();
  }
}
