import { edited, itemsOf, membersOf, rootOf, withoutParts } from '../wire/json-spans';
import type { Edit, MemberSpan, Span } from '../wire/json-spans';

/**
 * The text of an input schema without the arguments that Holdpoint fills in: neither offered nor required. All else is
 * kept to the byte.
 * @param text JSON of the `inputSchema` as the server lists it.
 */
export function withoutArguments(text: string, hidden: readonly string[]): string {
  return edited(
    text,
    membersOf(text, rootOf(text)).flatMap((member) => editsOf(text, member, hidden)),
  );
}

function editsOf(text: string, { name, value }: MemberSpan, hidden: readonly string[]): readonly Edit[] {
  if (name === 'properties') return withoutParts(membersOf(text, value), (member) => hidden.includes(member.name));
  if (name === 'required') return withoutParts(itemsOf(text, value), (item) => isOneOf(hidden, text, item));
  return [];
}

function isOneOf(names: readonly string[], text: string, { start, end }: Span): boolean {
  const value: unknown = JSON.parse(text.slice(start, end));
  return names.some((name) => name === value);
}
