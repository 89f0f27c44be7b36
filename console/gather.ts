import type { Page } from './ports';
import type { PageQuery, Place, Placed } from '../ledger/pages';

const PAGE_SIZE = { usual: 50, most: 200 } as const;

/** A cursor that nobody gave out. */
export class BadCursor extends Error {}

/** `keep` answers what is shown of a row, null where the row is not. */
export interface Gathering<Row extends Placed<unknown>, Kept> {
  /** Which list this is: a cursor of another one is refused. */
  readonly list: string;
  readonly read: (page: PageQuery) => Promise<readonly Row[]>;
  readonly keep: (row: Row) => Kept | null;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * One page of what `keep` leaves, read in pieces; `next` is a place in the list, so nothing is shown twice or left out
 * because of what comes and goes meanwhile.
 * @throws BadCursor
 */
export async function gather<Row extends Placed<unknown>, Kept>(given: Gathering<Row, Kept>): Promise<Page<Kept>> {
  const { list, read, keep, cursor, limit = PAGE_SIZE.usual } = given;
  const wanted = Math.min(limit, PAGE_SIZE.most);
  const items: Kept[] = [];
  let end: Place | null = null;
  for (let after = cursor === undefined ? null : placeOf(list, cursor); ;) {
    const rows: readonly Row[] = await read({ after, limit: PAGE_SIZE.most });
    for (const row of rows) {
      const kept = keep(row);
      if (kept === null) continue;
      // One more than asked for shows that there is a next page.
      if (items.length === wanted) return { items, next: cursorOf(list, end) };
      items.push(kept);
      end = row.place;
    }
    if (rows.length < PAGE_SIZE.most) return { items, next: null };
    after = rows.at(-1)?.place ?? null;
  }
}

function cursorOf(list: string, place: Place | null): string | null {
  return place === null
    ? null
    : Buffer.from(JSON.stringify([list, place.atMs, place.operationId])).toString('base64url');
}

function placeOf(list: string, cursor: string): Place {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, of, at, operationId] = /^\["([\w/]+)",(\d{1,16}),"(op_[0-9a-f]{40})"\]$/.exec(text) ?? [];
  if (of !== list || at === undefined || operationId === undefined)
    throw new BadCursor('the cursor is none that was given out by this list');
  return { atMs: Number(at), operationId };
}
