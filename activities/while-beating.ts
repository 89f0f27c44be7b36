import { Context } from '@temporalio/activity';

const HEARTBEAT_MS = 1_000;

/**
 * Heartbeats tell the server that the process lives; without them a killed worker is noticed only at the time-out. A
 * local activity has none: it lives and dies with its workflow task.
 */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return work();
  const beat = setInterval(() => {
    context.heartbeat();
  }, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}
