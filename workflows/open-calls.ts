import { ActivityFailure } from '@temporalio/workflow';
import type { OpenedTurn } from '../activities';
import { openRequests } from './activity-proxies';
import { forget, placeOf, wasNotTakenUp } from './collect';
import type { Turn } from './turn-state';

/**
 * Puts the calls of a turn on record: with who collects them, whose session they will run on; where nobody is there any
 * more, with the turn's own worker.
 */
export async function openCalls(turn: Turn): Promise<OpenedTurn> {
  const summary = `puts ${turn.calls.length} call(s) on record`;
  const input = { workflowId: turn.workflowId, turn: turn.input };
  for (;;) {
    const place = placeOf(turn);
    try {
      return await openRequests.executeWithOptions({ summary, ...place.options }, [input]);
    } catch (error) {
      if (!(error instanceof ActivityFailure && wasNotTakenUp(error))) throw error;
      forget(turn, place);
    }
  }
}
