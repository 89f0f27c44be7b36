import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

const { HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT: CLOSE_EVENT } = temporal.api.enums.v1.HistoryEventFilterType;

/**
 * Waits until the latest run of a workflow is over, or `signal` aborts. Temporal's client adds a listener to its signal
 * for each long poll and never takes one away, so each poll has a signal of its own: a wait of days keeps one.
 */
export async function untilClosed(client: Client, workflowId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const poll = new AbortController();
    const stop = (): void => poll.abort();
    signal.addEventListener('abort', stop);
    try {
      if (await client.withAbortSignal(poll.signal, () => hasClosed(client, workflowId))) return;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

/** One long poll; the server answers it without an event where the run goes on. */
async function hasClosed(client: Client, workflowId: string): Promise<boolean> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId },
    waitNewEvent: true,
    historyEventFilterType: CLOSE_EVENT,
  });
  return (history?.events ?? []).length > 0;
}
