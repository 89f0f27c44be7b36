import type { Holdpoint, Turn } from '../client';
import { turnsOf } from '../ledger/queries';
import { CliFailure } from './failure';
import { withLedger, type Place } from './place';
import { safe } from './text';

/** The turn of an id. Ids are each requester's own: without `subject` the ledger says whose it is, if only one has it. */
export async function turnOf(
  holdpoint: Holdpoint,
  place: Place,
  { id, subject }: { id: string; subject?: string },
): Promise<Turn> {
  if (subject !== undefined) return holdpoint.attach({ id, subject });
  const known = place.ledgerUrl === null ? [] : await withLedger(place, ({ store }) => turnsOf(store.db, id));
  const subjects = [...new Set(known.map((turn) => turn.subject))];
  const [only] = subjects;
  if (only !== undefined && subjects.length === 1) return holdpoint.attach({ id, subject: only });
  if (subjects.length > 1) {
    throw new CliFailure(
      'refused',
      `Several requesters have a turn ${safe(id)}: ${subjects.map(safe).join(', ')}.`,
      'Give --subject.',
    );
  }
  const agent = place.kind === 'dev' ? place.dev?.agent : undefined;
  if (agent !== undefined) return holdpoint.attach({ id, subject: agent.subject });
  throw new CliFailure('notFound', `The ledger knows no turn ${safe(id)}.`, 'Check the id, and give --subject.');
}

/** Whether the turn still runs; a failure where Temporal knows none of that id. */
export async function isOpen({ client }: Holdpoint, turn: Turn): Promise<boolean> {
  const { status } = await client.workflow.getHandle(turn.workflowId).describe();
  return status.name === 'RUNNING';
}
