import { log } from '@temporalio/workflow';
import { judgedHere } from './activity-proxies';
import { take, type Turn, type TurnCall } from './turn-state';

/**
 * Has the ledger do what is due on the requests of these calls, and takes its answers; those that it did not give leave
 * the calls as they are.
 */
export async function advanceCalls(turn: Turn, calls: readonly TurnCall[]): Promise<void> {
  const known = calls.flatMap(({ operationId, state }) =>
    state.status === 'pending' ? [{ operationId, revision: state.request.revision }] : [],
  );
  if (known.length === 0) return;
  try {
    const progress = await judgedHere.advanceRequests(known);
    for (const [index, { operationId }] of known.entries()) {
      const call = calls.find((entry) => entry.operationId === operationId);
      const news = progress[index] ?? null;
      // A call that went on meanwhile keeps what it has.
      if (call?.state.status !== 'pending' || news === null) continue;
      take(turn, call, news.status === 'waiting' ? { ...call.state, ...news, status: 'pending' } : news);
    }
  } catch (error) {
    log.warn('rows not read', { workflowId: turn.workflowId, error: String(error) });
  }
}
