import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Collector } from '../core/turn';
import type { PackedSnapshot } from '../core/turn-packing';
import { collectUpdate } from '../workflows/messages';
import { bounded, type Bounded } from './bounded';
import { inputOf, startOperation, startOptions, type StartOptions, type TurnStart } from './start-turn';

/**
 * Says that somebody is there to take the results of a turn that is collected, and starts it where it is not under way.
 * Without an answer in 5 s it may be started and collected all the same.
 */
export async function collectTurn(
  client: Client,
  start: TurnStart,
  place: { readonly taskQueue: string; readonly collector: Collector },
): Promise<Bounded<PackedSnapshot>> {
  const options = startOptions(inputOf(start, { collected: true }), place.taskQueue, [place.collector]);
  try {
    return await collect(client, options, place.collector);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // It was cut off before its end: it reads its rows again.
    return collect(client, { ...options, workflowIdReusePolicy: 'ALLOW_DUPLICATE' }, place.collector);
  }
}

function collect(client: Client, options: StartOptions, collector: Collector): Promise<Bounded<PackedSnapshot>> {
  const startWorkflowOperation = startOperation(options);
  return bounded(client, () =>
    client.workflow.executeUpdateWithStart(collectUpdate, { args: [collector], startWorkflowOperation }),
  );
}
