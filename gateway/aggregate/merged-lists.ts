import { randomUUID } from 'node:crypto';
import { showText } from '../../core/display';
import type { JsonObject } from '../../core/json';
import type { Log } from '../../ledger/log';
import { objectOr } from '../wire/server-message';
import { ListCursors } from './list-cursors';
import type { ListKind } from './list-kinds';
import { readListedPage, renamed } from './listed-page';
import type { ListedItem, ListedPage } from './listed-page';
import { Routes } from './routes';
import type { ServerLink } from './server-link';
import type { ServerLinks } from './server-links';
import { shownName } from './shown-name';
import { METHOD_NOT_FOUND, INVALID_PARAMS } from '../wire/refusal';

/** How long one server may take for a page; without it the others are shown. */
const PAGE_MS = 10_000;
/** Pages of one server that are read to find out whose something is. */
const MOST_PAGES = 100;

export interface MergedListsOptions {
  readonly links: ServerLinks;
  readonly log: Pick<Log, 'warn'>;
}

/** The text of a result, or what is wrong; null for a cursor that was not given out here. */
export type MergedPage =
  { readonly ok: true; readonly result: string } | { readonly ok: false; readonly detail: string | null };

type AskedPage =
  | { readonly ok: true; readonly server: string; readonly page: ListedPage }
  | { readonly ok: false; readonly server: string; readonly code: unknown; readonly detail: string };

/** The lists of all servers as one, and whose is what of what they list. */
export class MergedLists {
  private readonly links: ServerLinks;
  private readonly log: MergedListsOptions['log'];
  private readonly cursors = new ListCursors();
  private readonly routes = new Map<string, Routes>();
  private readonly filling = new Map<string, Promise<void>>();
  private readonly failed = new Set<string>();

  constructor({ links, log }: MergedListsOptions) {
    this.links = links;
    this.log = log;
  }

  routesOf({ method }: ListKind): Routes {
    const known = this.routes.get(method);
    if (known !== undefined) return known;
    const routes = new Routes();
    this.routes.set(method, routes);
    return routes;
  }

  /** One page for the client: of every server the first, or the next of each that has more. */
  async page(kind: ListKind, params: JsonObject): Promise<MergedPage> {
    const { cursor } = params;
    if (cursor === undefined) await this.links.refresh();
    const places = cursor === undefined ? this.beginnings(kind) : this.placesIn(kind, cursor);
    if (places === null) return { ok: false, detail: null };
    const asked = await Promise.all([...places].map(([link, place]) => this.ask(kind, { link, place, params })));
    const failures = asked.filter((one) => !one.ok);
    // A server that does not know its own cursor any more has another list now.
    if (cursor !== undefined && failures.some(({ code }) => code === INVALID_PARAMS))
      return { ok: false, detail: null };
    if (failures.length > 0 && failures.length === asked.length) {
      return { ok: false, detail: failures.map(({ server, detail }) => `${server} (${showText(detail)})`).join(', ') };
    }
    return {
      ok: true,
      result: this.merged(
        kind,
        asked.filter((one) => one.ok),
      ),
    };
  }

  /** Learns all that servers list and that is not known yet; `anew`: also what is, and of those that failed before. */
  async complete(kind: ListKind, anew = false): Promise<void> {
    const routes = this.routesOf(kind);
    const unknown = this.links
      .having(kind.capability)
      .filter(({ server }) => anew || !(routes.isComplete(server) || this.failed.has(placeOf(kind, server))));
    await Promise.all(unknown.map((link) => this.fillOnce(kind, link)));
  }

  /** Servers of which it is not known what they list. */
  missing(kind: ListKind): readonly string[] {
    const routes = this.routesOf(kind);
    return this.links
      .all()
      .filter(
        (link) => this.failed.has(placeOf(kind, link.server)) || (!link.isOpen && !routes.isComplete(link.server)),
      )
      .map(({ server }) => server);
  }

  /** A server's list is not what it was. */
  clear(kind: ListKind, server: string): void {
    this.failed.delete(placeOf(kind, server));
    this.routesOf(kind).clear(server);
  }

  /** The requester may not use a server any more. */
  forget(server: string): void {
    for (const routes of this.routes.values()) routes.forget(server);
  }

  private beginnings({ capability }: ListKind): ReadonlyMap<ServerLink, string | null> {
    return new Map(this.links.having(capability).map((link) => [link, null]));
  }

  private placesIn({ method }: ListKind, cursor: unknown): ReadonlyMap<ServerLink, string | null> | null {
    const places = typeof cursor === 'string' ? this.cursors.read(method, cursor) : null;
    if (places === null) return null;
    return new Map(
      [...places].flatMap(([server, place]) => {
        const link = this.links.get(server);
        return link === undefined ? [] : [[link, place]];
      }),
    );
  }

  private merged(kind: ListKind, asked: readonly (AskedPage & { readonly ok: true })[]): string {
    const items = asked.flatMap(({ server, page }) => page.items.flatMap((item) => this.shown(kind, server, item)));
    const places = asked.flatMap(({ server, page: { next } }) => (next === null ? [] : [[server, next] as const]));
    const rest = places.length === 0 ? '' : `,"nextCursor":"${this.cursors.write(kind.method, new Map(places))}"`;
    return `{"${kind.member}":[${items.join(',')}]${rest}}`;
  }

  /** What two would be shown as is shown for neither: nobody could say which of them is meant. */
  private shown(kind: ListKind, server: string, { key, text }: ListedItem): readonly string[] {
    if (!kind.isPrefixed) return [text];
    const name = shownName(server, key);
    const owners = this.routesOf(kind).ownersOf(name);
    if (owners.length === 1) return [renamed(text, name)];
    this.log.warn({ shown: showText(name), owners }, 'gateway.nameTaken');
    return [];
  }

  private fillOnce(kind: ListKind, link: ServerLink): Promise<void> {
    const place = placeOf(kind, link.server);
    const filling = this.filling.get(place) ?? this.fill(kind, link).finally(() => this.filling.delete(place));
    this.filling.set(place, filling);
    return filling;
  }

  private async fill(kind: ListKind, link: ServerLink): Promise<void> {
    let place: string | null = null;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const asked: AskedPage = await this.ask(kind, { link, place, params: {} });
      if (!asked.ok || asked.page.next === null) return;
      place = asked.page.next;
    }
    this.log.warn({ server: link.server, method: kind.method, pages: MOST_PAGES }, 'gateway.listTooLong');
  }

  /** Asks one server for a page, and keeps what is whose. */
  private async ask(
    kind: ListKind,
    { link, place, params }: { readonly link: ServerLink; readonly place: string | null; readonly params: JsonObject },
  ): Promise<AskedPage> {
    const { server } = link;
    const routes = this.routesOf(kind);
    const changes = routes.changesOf(server);
    const answer = await link.ask({ ...requestOf(kind, place, params), signal: AbortSignal.timeout(PAGE_MS) });
    const page = answer.kind === 'answer' ? pageIn(answer.text, answer.value, kind) : null;
    if (page === null) return this.failure(kind, server, answer);
    this.failed.delete(placeOf(kind, server));
    const entries = page.items.map(({ key }) => ({ key, shown: kind.isPrefixed ? shownName(server, key) : key }));
    routes.learn(server, { changes, cursor: place, next: page.next, entries });
    return { ok: true, server, page };
  }

  private failure(
    kind: ListKind,
    server: string,
    answer: Awaited<ReturnType<ServerLink['ask']>>,
  ): AskedPage & { readonly ok: false } {
    const said = answer.kind === 'answer' ? objectOr(answer.value['error']) : answer;
    const { code } = said;
    const detail = typeof said['message'] === 'string' ? said['message'] : 'it is no such list';
    this.failed.add(placeOf(kind, server));
    this.log.warn({ server, method: kind.method, detail: showText(detail) }, 'gateway.listLeftOut');
    return { ok: false, server, code, detail };
  }
}

function requestOf({ method }: ListKind, cursor: string | null, { _meta, ...params }: JsonObject) {
  const id = `holdpoint-${randomUUID()}`;
  const message = { jsonrpc: '2.0', id, method, params: { ...params, ...(cursor !== null && { cursor }) } };
  return { id, text: JSON.stringify(message) };
}

function placeOf({ method }: ListKind, server: string): string {
  return `${method} ${server}`;
}

/** A server that has no such list lists nothing. */
function pageIn(text: string, value: JsonObject, kind: ListKind): ListedPage | null {
  if (objectOr(value['error'])['code'] === METHOD_NOT_FOUND) return { items: [], next: null };
  return readListedPage(text, kind);
}
