import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import type { Decision, Verdict } from '../core/decision';
import { TURN_LIMITS } from '../core/turn';
import { decideSignal, decideUpdate, LATE_DECISION } from '../workflows/messages';
import { bounded } from './bounded';

/** Where no answer comes, this one is given: `notRecorded` after so many milliseconds in all. */
const LIMIT_MS = 5_000;

/** Long enough for the worker's own answer that its ledger gives none. */
const UPDATE_MS = 4_000;

const PAUSE_MS = 200;

export interface DecisionTarget {
  readonly workflowId: string;
  readonly taskQueue: string;
  /** Until when an answer is waited for, in ms from now: 5,000 by default. */
  readonly limitMs?: number | undefined;
}

/**
 * Sends one decision and answers its typed verdict within `limitMs`: as an update; sent again under the same decision id
 * while no answer came and the last fifth of the time is not reached; then as a signal, which waits for a worker.
 * `notRecorded` therefore means "not yet", and sending the same decision again is always safe. For a turn that has ended,
 * or judges no more, the ledger still judges and records it.
 */
export async function decide(client: Client, target: DecisionTarget, decision: Decision): Promise<Verdict> {
  const bytes = Buffer.byteLength(JSON.stringify(decision));
  if (bytes > TURN_LIMITS.decisionBytes) {
    return verdict('tooLarge', `${bytes} bytes; a decision has at most ${TURN_LIMITS.decisionBytes}`, decision);
  }
  const { workflowId, taskQueue, limitMs = LIMIT_MS } = target;
  const endsAtMs = performance.now() + limitMs;
  const sending = { client, workflowId, taskQueue, decision, leftMs: () => Math.max(endsAtMs - performance.now(), 1) };
  try {
    const answer = (await byUpdates(sending, limitMs / 5)) ?? (await bySignal(sending));
    return answer.code === 'limit' ? await besideTheTurn(sending) : answer;
  } catch (error) {
    // The second: the turn was ended from outside while it judged.
    const ended = error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError;
    if (ended) return await besideTheTurn(sending);
    throw error;
  }
}

interface Sending extends Pick<DecisionTarget, 'workflowId' | 'taskQueue'> {
  readonly client: Client;
  readonly decision: Decision;
  readonly leftMs: () => number;
}

/** The verdict, or null with `restMs` of the time left. */
async function byUpdates({ client, workflowId, decision, leftMs }: Sending, restMs: number): Promise<Verdict | null> {
  const handle = client.workflow.getHandle(workflowId);
  while (leftMs() > restMs) {
    const forMs = Math.min(leftMs() - restMs, UPDATE_MS);
    const answer = await bounded(client, () => handle.executeUpdate(decideUpdate, { args: [decision] }), forMs);
    if (answer.kind === 'answer') return answer.value;
    if (leftMs() > restMs + PAUSE_MS) await delay(PAUSE_MS);
  }
  return null;
}

async function bySignal({ client, workflowId, decision, leftMs }: Sending): Promise<Verdict> {
  const signal = () => client.workflow.getHandle(workflowId).signal(decideSignal, decision);
  const sent = await bounded(client, signal, leftMs());
  const detail =
    sent.kind === 'answer'
      ? 'no worker answered; the decision waits in Temporal and is judged when one is up. Sending it again is safe'
      : 'Temporal could not be reached and the decision is not recorded; send the same decision again';
  return verdict('notRecorded', detail, decision);
}

type LateDecision = (input: { message: unknown; workflowId: string }) => Promise<Verdict>;

/** A turn that has ended takes no messages; its rows still answer, and a turn that waits is told of what changed. */
async function besideTheTurn({ client, workflowId, taskQueue, decision, leftMs }: Sending): Promise<Verdict> {
  const judge = () =>
    client.workflow.execute<LateDecision>(LATE_DECISION, {
      workflowId: `decision/${decision.decisionId.slice(0, 100)}/${randomUUID()}`,
      taskQueue,
      args: [{ message: decision, workflowId }],
    });
  const answer = await bounded(client, judge, leftMs());
  return answer.kind === 'answer'
    ? answer.value
    : verdict('notRecorded', 'no worker answered; send the same decision again', decision);
}

function verdict(code: 'tooLarge' | 'notRecorded', detail: string, { operationId, revision }: Decision): Verdict {
  return { code, detail, operationId, revision, state: null, decidedBy: [], counted: null };
}
