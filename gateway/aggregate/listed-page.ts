import { parseJson } from '../../activities/rpc';
import { isJsonArray } from '../../core/json';
import { edited, itemsOf, lastMember, membersOf, rootOf } from '../wire/json-spans';
import { objectOr } from '../wire/server-message';
import type { ListKind } from './list-kinds';

export interface ListedItem {
  /** The server's own name, URI or id of it. */
  readonly key: string;
  /** The item as its server wrote it. */
  readonly text: string;
}

export interface ListedPage {
  readonly items: readonly ListedItem[];
  /** Null where it is the last one. */
  readonly next: string | null;
}

/**
 * A server's answer to a list request; null where it holds no such list. Items without a key are left out: nobody could
 * ask for them, and clients take a list with one of them for broken as a whole.
 */
export function readListedPage(response: string, { member, key }: ListKind): ListedPage | null {
  const result = objectOr(objectOr(parseJson(response))['result']);
  const values = result[member];
  if (values === undefined || !isJsonArray(values)) return null;
  const places = placesOf(response, member);
  const items = values.flatMap((value, index) => {
    const found = objectOr(value)[key];
    const place = places[index];
    if (typeof found !== 'string' || place === undefined) return [];
    return [{ key: found, text: response.slice(place.start, place.end) }];
  });
  const { nextCursor } = result;
  return { items, next: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : null };
}

/** An item under another name; everything else stays as it was written. */
export function renamed(item: string, name: string): string {
  const names = membersOf(item, rootOf(item)).filter((member) => member.name === 'name');
  return edited(
    item,
    names.map(({ value }) => ({ ...value, text: JSON.stringify(name) })),
  );
}

function placesOf(text: string, member: string) {
  const result = lastMember(membersOf(text, rootOf(text)), 'result');
  const list = result && lastMember(membersOf(text, result.value), member);
  return list === undefined ? [] : itemsOf(text, list.value);
}
