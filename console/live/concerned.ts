import type { LiveChange, Reviews, Viewer } from '../ports';
import { atMost } from './at-most';

/** Questions to the ledger at once, however many listen. */
const AT_ONCE = 8;
/** Answers that are remembered; the oldest goes first. */
const REMEMBERED = 10_000;

interface Answer {
  /** The newest change when it was asked: for that one and all before it the answer is good. */
  readonly asOf: number;
  readonly concerns: Promise<boolean>;
}

/**
 * Whether a change concerns a viewer, asked once for both of them however many streams they have: an answer serves all
 * changes of its operation up to `newest`. What belongs to no operation is for operators.
 */
export function createConcerned(
  reviews: Pick<Reviews, 'concerns'>,
): (viewer: Viewer, change: LiveChange, newest: number) => Promise<boolean> {
  const answers = new Map<string, Answer>();
  const limited = atMost(AT_ONCE);
  return async (viewer, { seq, operationId }, newest) => {
    if (operationId === null) return viewer.isOperator;
    const key = JSON.stringify([viewer.name, viewer.isOperator, viewer.groups, operationId]);
    const known = answers.get(key);
    if (known !== undefined && known.asOf >= seq) return known.concerns;
    const concerns = limited(() => reviews.concerns(viewer, operationId));
    answers.delete(key);
    answers.set(key, { asOf: Math.max(newest, seq), concerns });
    // A question that failed is asked again.
    concerns.catch(() => answers.get(key)?.concerns === concerns && answers.delete(key));
    forgetOldest(answers);
    return concerns;
  };
}

function forgetOldest(answers: Map<string, Answer>): void {
  if (answers.size <= REMEMBERED) return;
  const [oldest] = answers.keys();
  if (oldest !== undefined) answers.delete(oldest);
}
