import { parseJson } from '../../activities/rpc';
import { APPROVAL_META_KEY } from '../../client/pending-approval';
import { edited, itemsOf, membersOf, rootOf, withoutParts } from '../wire/json-spans';
import type { Edit, MemberSpan, Span } from '../wire/json-spans';

/** In which the key may stand, plainly or with escapes. */
const MAY_HOLD_IT = /holdpoint|\\u00/i;

/**
 * The text of an upstream's answer without what it says under the key of Holdpoint in a result's `_meta`: nobody asked
 * about such a call here, so that is no word of ours. All else is kept to the byte.
 */
export function withoutForeignApproval(text: string): string {
  if (!MAY_HOLD_IT.test(text) || parseJson(text) === undefined) return text;
  const root = rootOf(text);
  // Earlier revisions of MCP knew batches.
  const responses = text[root.start] === '[' ? itemsOf(text, root) : [root];
  const edits = responses.flatMap((response) => editsOf(text, response));
  return edits.length === 0 ? text : edited(text, edits);
}

function editsOf(text: string, response: Span): readonly Edit[] {
  return named(text, response, 'result')
    .flatMap(({ value }) => named(text, value, '_meta'))
    .flatMap(({ value }) => withoutParts(membersOf(text, value), ({ name }) => name === APPROVAL_META_KEY));
}

/** Each of them, however often it stands there: readers differ in which one they take. */
function named(text: string, object: Span, wanted: string): readonly MemberSpan[] {
  return membersOf(text, object).filter(({ name }) => name === wanted);
}
