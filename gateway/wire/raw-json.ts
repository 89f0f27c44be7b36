import { edited, lastMember, membersOf, rootOf, type Span } from './json-spans';

/**
 * Where the value of a member of the outermost object stands in a JSON text, without reading it: so an id can be
 * replaced or repeated and everything else stays what it was. Of a name that occurs twice the last counts, as for
 * `JSON.parse`. Undefined where there is none. The text must be JSON; of another one the answer means nothing.
 */
export function memberSpan(text: string, name: string): Span | undefined {
  return spanAt(text, [name]);
}

/** The same of a member of a member, by their names from the outside in. */
export function spanAt(text: string, path: readonly string[]): Span | undefined {
  let found: Span | undefined = rootOf(text);
  for (const name of path) found = found && lastMember(membersOf(text, found), name)?.value;
  return found;
}

/** A text in which the value at a path is another one; the same text where there is none. */
export function withValueAt(text: string, path: readonly string[], value: string): string {
  const span = spanAt(text, path);
  return span === undefined ? text : edited(text, [{ ...span, text: value }]);
}

/** The id of a message as it is written in its text; `null` where it has none. */
export function idText(text: string): string {
  const span = memberSpan(text, 'id');
  return span === undefined ? 'null' : text.slice(span.start, span.end);
}

/** A JSON text without line breaks. */
export function onOneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, ' ') : text;
}
