import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import type { Turn } from '../../client';
import type { Harness } from './harness';

const { ResetReapplyType } = temporal.api.enums.v1;

type Event = temporal.api.history.v1.IHistoryEvent;

/**
 * Resets a turn to the workflow task before its first decision, as an operator does in the Temporal UI.
 * `reapply`: the messages since then are delivered again, which is Temporal's default.
 */
export async function resetToDecision(
  { holdpoint: { client } }: Harness,
  { workflowId }: Turn,
  { reapply }: { readonly reapply: boolean },
): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const all = events ?? [];
  const decidedAt = all.findIndex(isDecision);
  // The task before an accepted update is the one that accepted it.
  const tasks = all.slice(0, decidedAt - 1).filter((event) => event.workflowTaskCompletedEventAttributes);
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    workflowTaskFinishEventId: tasks.at(-1)?.eventId ?? null,
    requestId: randomUUID(),
    reason: 'test',
    resetReapplyType: reapply
      ? ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE
      : ResetReapplyType.RESET_REAPPLY_TYPE_NONE,
  });
}

function isDecision(event: Event): boolean {
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name;
  return update === 'decide' || event.workflowExecutionSignaledEventAttributes?.signalName === 'decide';
}
