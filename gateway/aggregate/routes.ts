/** A server, and its own name for something. */
export interface Owner {
  readonly server: string;
  readonly key: string;
}

/** One page of a server's list, as it is learnt from. */
export interface LearntPage {
  /** What `changesOf` said when the page was asked for. */
  readonly changes: number;
  /** The cursor that it was asked with; null for the first page. */
  readonly cursor: string | null;
  /** Null where it is the last page. */
  readonly next: string | null;
  readonly entries: readonly { readonly shown: string; readonly key: string }[];
}

type Keys = Map<string, Set<string>>;

interface Part {
  changes: number;
  keys: Keys;
  /** Whether all of the server's list is in `keys`. */
  isComplete: boolean;
  /** What a listing that is under way has brought, and where it goes on: null at its end, undefined where it broke off. */
  listing: { readonly keys: Keys; next: string | null | undefined };
}

/** Whose is what, by what servers have listed: of one kind of list, for one client. */
export class Routes {
  private readonly parts = new Map<string, Part>();

  /** Every owner of what is shown so: more than one where it is not clear whose it is. */
  ownersOf(shown: string): readonly Owner[] {
    return this.sorted().flatMap(([server, { keys }]) => [...(keys.get(shown) ?? [])].map((key) => ({ server, key })));
  }

  /** Everything that is known, by how it is shown. */
  all(): readonly (Owner & { readonly shown: string })[] {
    return this.sorted().flatMap(([server, { keys }]) =>
      [...keys].flatMap(([shown, own]) => [...own].map((key) => ({ server, key, shown }))),
    );
  }

  isComplete(server: string): boolean {
    return this.parts.get(server)?.isComplete === true;
  }

  /** How often the server's list was changed. */
  changesOf(server: string): number {
    return this.partOf(server).changes;
  }

  /** What was known stays known until a listing has come to its end, or the list was changed. */
  learn(server: string, { changes, cursor, next, entries }: LearntPage): void {
    const part = this.partOf(server);
    add(part.keys, entries);
    if (cursor === null) part.listing = { keys: new Map(), next };
    else if (cursor === part.listing.next) part.listing.next = next;
    else return;
    add(part.listing.keys, entries);
    // What was asked for before a change may be of either list.
    if (changes !== part.changes) part.listing.next = undefined;
    if (part.listing.next !== null) return;
    part.keys = part.listing.keys;
    part.isComplete = true;
  }

  /** The server's list is not what it was. */
  clear(server: string): void {
    const { changes } = this.partOf(server);
    this.parts.set(server, { ...emptyPart(), changes: changes + 1 });
  }

  forget(server: string): void {
    this.parts.delete(server);
  }

  /** By their names, and not by which server was quicker. */
  private sorted(): readonly (readonly [string, Part])[] {
    return [...this.parts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  private partOf(server: string): Part {
    const known = this.parts.get(server);
    if (known !== undefined) return known;
    const part = emptyPart();
    this.parts.set(server, part);
    return part;
  }
}

function emptyPart(): Part {
  return { changes: 0, keys: new Map(), isComplete: false, listing: { keys: new Map(), next: undefined } };
}

function add(keys: Keys, entries: LearntPage['entries']): void {
  for (const { shown, key } of entries) keys.set(shown, (keys.get(shown) ?? new Set()).add(key));
}
