import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import type { Decision, Verdict } from '../core/decision';
import { TURN_LIMITS } from '../core/turn';
import { decideSignal, decideUpdate, LATE_DECISION } from '../workflows/messages';
import { bounded } from './bounded';

export interface DecisionTarget {
  readonly workflowId: string;
  readonly taskQueue: string;
}

/**
 * Sends one decision and answers its typed verdict: as an update; sent again under the same decision id if no answer
 * came; then as a signal, which waits for a worker. `notRecorded` therefore means "not yet", and sending the same
 * decision again is always safe. For a turn that has ended, or judges no more, the ledger still judges and records it.
 */
export async function decide(client: Client, target: DecisionTarget, decision: Decision): Promise<Verdict> {
  const bytes = Buffer.byteLength(JSON.stringify(decision));
  if (bytes > TURN_LIMITS.decisionBytes) {
    return verdict('tooLarge', `${bytes} bytes; a decision has at most ${TURN_LIMITS.decisionBytes}`, decision);
  }
  try {
    const answer =
      (await byUpdate(client, target, decision)) ??
      (await byUpdate(client, target, decision)) ??
      (await bySignal(client, target, decision));
    return answer.code === 'limit' ? await besideTheTurn(client, target, decision) : answer;
  } catch (error) {
    // The second: the turn was ended from outside while it judged.
    const ended = error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError;
    if (ended) return await besideTheTurn(client, target, decision);
    throw error;
  }
}

async function byUpdate(client: Client, { workflowId }: DecisionTarget, decision: Decision): Promise<Verdict | null> {
  const handle = client.workflow.getHandle(workflowId);
  const answer = await bounded(client, () => handle.executeUpdate(decideUpdate, { args: [decision] }));
  return answer.kind === 'answer' ? answer.value : null;
}

async function bySignal(client: Client, { workflowId }: DecisionTarget, decision: Decision): Promise<Verdict> {
  const sent = await bounded(client, () => client.workflow.getHandle(workflowId).signal(decideSignal, decision));
  const detail =
    sent.kind === 'answer'
      ? 'no worker answered; the decision waits in Temporal and is judged when one is up. Sending it again is safe'
      : 'Temporal could not be reached and the decision is not recorded; send the same decision again';
  return verdict('notRecorded', detail, decision);
}

/** A turn that has ended takes no messages; its rows still answer, and a turn that waits is told of what changed. */
async function besideTheTurn(
  client: Client,
  { workflowId, taskQueue }: DecisionTarget,
  decision: Decision,
): Promise<Verdict> {
  const answer = await bounded(client, () =>
    client.workflow.execute<(input: { message: unknown; workflowId: string }) => Promise<Verdict>>(LATE_DECISION, {
      workflowId: `decision/${decision.decisionId.slice(0, 100)}/${randomUUID()}`,
      taskQueue,
      args: [{ message: decision, workflowId }],
    }),
  );
  return answer.kind === 'answer'
    ? answer.value
    : verdict('notRecorded', 'no worker answered; send the same decision again', decision);
}

function verdict(code: 'tooLarge' | 'notRecorded', detail: string, { operationId, revision }: Decision): Verdict {
  return { code, detail, operationId, revision, state: null, decidedBy: [], counted: null };
}
