import type { TextNote } from '../../core/display';
import type { RequestStanding } from '../../core/request';
import type { OperationRecord } from '../../ledger/queries';

export { brief, CAUSE_TEXT, count, duration, relative, validityText, when } from '../../core/words';

/** Where a request stands. */
export const STANDING_TEXT: Readonly<Record<RequestStanding['state'], string>> = {
  pending: 'waits for a decision',
  allowed: 'allowed',
  denied: 'denied',
  expired: 'expired',
  withdrawn: 'withdrawn',
  superseded: 'superseded by a newer revision',
  refused: 'refused',
};

/** How a sent operation ended. */
export const OUTCOME_TEXT: Readonly<Record<OperationRecord['state'], string>> = {
  dispatched: 'sent, outcome not known yet',
  executed: 'executed',
  failed: 'failed, nothing was done',
  unknown: 'outcome unknown',
};

/** What proves an outcome. */
export const EVIDENCE_TEXT: Readonly<Record<string, string>> = {
  answer: "the tool server's answer",
  lookUp: 'a look-up',
  settlement: 'a person',
  notSent: 'the tool server did not take the call up',
};

/** What a text hides, for the reader of its warning. */
export const NOTE_TEXT: Readonly<Record<TextNote, string>> = {
  'not NFC': 'characters in an unusual form, which may equal another text',
  'mixed scripts': 'mixes alphabets that look alike',
  invisible: 'invisible characters, shown as ⟦U+…⟧',
  bidi: 'characters that reverse the reading direction, shown as ⟦U+…⟧',
  control: 'control characters, shown as ⟦U+…⟧',
};

const REVERSIBLE_TEXT: Readonly<Record<string, string>> = { yes: 'yes', 'with-effort': 'with effort', no: 'no' };

/** Whether it can be undone; a word that is not of the policy stays as it is. */
export function reversibleText(reversible: string | null): string {
  return reversible === null ? 'not stated' : (REVERSIBLE_TEXT[reversible] ?? reversible);
}
