import type { Holdpoint, Turn } from '../client';
import { turnsOf } from '../ledger/queries';
import { CliFailure } from './failure';
import { withLedger, type Place } from './place';
import { safe } from './text';

/** Whose turn is meant, and whether somebody or something on record said so. */
export interface MeantTurn {
  readonly turn: Turn;
  readonly subject: string;
  readonly known: boolean;
}

/** The turn of an id. Ids are each requester's own: without `subject` the ledger says whose it is, if only one has it. */
export async function turnOf(
  holdpoint: Holdpoint,
  place: Place,
  { id, subject }: { id: string; subject?: string },
): Promise<MeantTurn> {
  if (subject !== undefined) return { turn: holdpoint.attach({ id, subject }), subject, known: true };
  const found = place.ledgerUrl === null ? [] : await withLedger(place, ({ store }) => turnsOf(store.db, id));
  const subjects = [...new Set(found.map((turn) => turn.subject))];
  const [only] = subjects;
  if (only !== undefined && subjects.length === 1)
    return { turn: holdpoint.attach({ id, subject: only }), subject: only, known: true };
  if (subjects.length > 1) {
    throw new CliFailure(
      'refused',
      `Several requesters have a turn ${safe(id)}: ${subjects.map(safe).join(', ')}.`,
      'Give --subject.',
    );
  }
  const agent = place.kind === 'dev' ? place.dev?.agent : undefined;
  if (agent !== undefined)
    return { turn: holdpoint.attach({ id, subject: agent.subject }), subject: agent.subject, known: false };
  throw new CliFailure('notFound', `The ledger knows no turn ${safe(id)}.`, 'Check the id, and give --subject.');
}

/** Temporal keeps no such turn: it names the requester that was tried. */
export function turnNotFound({ turn, subject, known }: MeantTurn): CliFailure {
  const tried = `Temporal knows no turn ${safe(turn.id)} of ${safe(subject)}`;
  return known
    ? new CliFailure(
        'notFound',
        `${tried}.`,
        'Check the id and the requester; Temporal forgets turns that ended long ago.',
      )
    : new CliFailure(
        'notFound',
        `${tried}, and the ledger knows none of that id.`,
        'Check the id, and give --subject.',
      );
}

/** Whether the turn still runs; rejects where Temporal knows none of that id. */
export async function isOpen({ client }: Holdpoint, turn: Turn): Promise<boolean> {
  const { status } = await client.workflow.getHandle(turn.workflowId).describe();
  return status.name === 'RUNNING';
}
