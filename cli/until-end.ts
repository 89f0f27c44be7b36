import type { Log } from '../ledger/log';
import type { ExitName } from './exit-codes';

/** A part of Holdpoint that is a process of its own. */
export interface RunningPart {
  /** Settles when it has ended, also when it failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Until a signal asks for the end, or the part ends by itself. A second signal does not wait for running tools. */
export async function untilEnd(name: string, part: RunningPart, log: Pick<Log, 'info'>): Promise<ExitName> {
  const signalled = new Promise<'signal'>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        log.info({ signal }, `${name}.stopping`);
        process.once(signal, () => process.exit(1));
        resolve('signal');
      });
    }
  });
  const outcome = await Promise.race([signalled, part.ended.then(() => 'ended' as const)]).finally(() => part.stop());
  log.info({}, `${name}.stopped`);
  return outcome === 'signal' ? 'ok' : 'unreachable';
}
