import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Log } from '../ledger/log';

/**
 * Once per process, before the first connection: what Temporal's own code says goes to this log, from warnings up, and
 * signals are left to the owner of the process, who stops things in an order of his own. It keeps the process alive
 * until the last connection is closed; where none was opened, until `end`.
 */
export function installTemporalRuntime(log: Log): { end(): Promise<void> } {
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    const entry = { detail: message, ...fieldsOf(meta) };
    if (level === 'ERROR') log.error(entry, 'temporal');
    else log.warn(entry, 'temporal');
  });
  const runtime = Runtime.install({
    logger,
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  });
  return { end: () => runtime.shutdown() };
}

/** Ids and the words of an error; never what a call carried. */
function fieldsOf(meta: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, string>> {
  const { workflowId, activityType, error } = meta ?? {};
  return {
    ...(typeof workflowId === 'string' && { workflowId }),
    ...(typeof activityType === 'string' && { activityType }),
    ...(error instanceof Error && { error: error.message }),
  };
}
