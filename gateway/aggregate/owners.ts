import { showText } from '../../core/display';
import { PROMPTS, RESOURCES, TEMPLATES, TOOLS } from './list-kinds';
import type { ListKind } from './list-kinds';
import type { MergedLists } from './merged-lists';
import type { Owner } from './routes';
import type { ServerLinks } from './server-links';
import { literalChars, mayComeFrom } from './uri-template';
import { INVALID_PARAMS } from '../wire/refusal';

export interface OwnersOptions {
  readonly links: ServerLinks;
  readonly lists: MergedLists;
}

export type FoundOwner =
  { readonly ok: true; readonly owner: Owner } | { readonly ok: false; readonly code: number; readonly detail: string };

/** Whom to ask, in this order; the first `likely` of them may have it by what they list. */
export interface Candidates {
  readonly servers: readonly string[];
  readonly likely: number;
}

export type FoundCandidates =
  ({ readonly ok: true } & Candidates) | { readonly ok: false; readonly code: number; readonly detail: string };

const WORDS = new Map([
  [TOOLS, 'tool'],
  [PROMPTS, 'prompt'],
  [RESOURCES, 'resource'],
]);

/** Finds out whose a tool, prompt or resource is: by what servers have listed, never by how it is named. */
export class Owners {
  private readonly links: ServerLinks;
  private readonly lists: MergedLists;

  constructor({ links, lists }: OwnersOptions) {
    this.links = links;
    this.lists = lists;
  }

  /** The owner of a shown name. One that is not known is looked for once more, at all servers. */
  async named(kind: ListKind, shown: string): Promise<FoundOwner> {
    const routes = this.lists.routesOf(kind);
    await this.lists.complete(kind);
    if (routes.ownersOf(shown).length === 0) {
      await this.links.refresh();
      await this.lists.complete(kind, true);
    }
    const owners = routes.ownersOf(shown);
    const [owner, another] = owners;
    if (owner !== undefined && another === undefined) return { ok: true, owner };
    const detail = owner === undefined ? this.unknown(kind, shown) : ambiguous(kind, shown, owners);
    return { ok: false, code: INVALID_PARAMS, detail };
  }

  /** Whom to ask for a resource: who listed it; else those of whose templates it may come, before all others. */
  async ofResource(uri: string): Promise<FoundCandidates> {
    await Promise.all([this.lists.complete(RESOURCES), this.lists.complete(TEMPLATES)]);
    const owners = this.lists.routesOf(RESOURCES).ownersOf(uri);
    if (owners.length > 1) {
      const places = owners.map(({ server }) => `/mcp/${server}`).join(' and ');
      const detail = `More than one server lists the resource "${showText(uri)}". Use the endpoint of the one that you mean: ${places}`;
      return { ok: false, code: INVALID_PARAMS, detail };
    }
    if (owners.length === 1) return { ok: true, servers: owners.map(({ server }) => server), likely: 1 };
    const templates = this.lists.routesOf(TEMPLATES).all();
    // A template that takes everything does not stand in the way of another's own.
    const likely = templates
      .filter(({ key }) => key === uri || mayComeFrom(key, uri))
      .toSorted((a, b) => literalChars(b.key) - literalChars(a.key));
    return { ok: true, ...this.first(likely, RESOURCES.capability) };
  }

  private unknown(kind: ListKind, shown: string): string {
    const word = wordFor(kind);
    const missing = this.lists.missing(kind);
    const rest = missing.length === 0 ? '' : `. It may be of a server that gave no list now: ${missing.join(', ')}`;
    return `There is no ${word} "${showText(shown)}" here: list the ${word}s, and use a name as it is listed${rest}`;
  }

  /** Some servers, and after them all others that have declared this. */
  first(likely: readonly Pick<Owner, 'server'>[], capability: string): Candidates {
    const servers = new Set(likely.map(({ server }) => server));
    const { size } = servers;
    for (const { server } of this.links.having(capability)) servers.add(server);
    return { servers: [...servers], likely: size };
  }
}

function ambiguous(kind: ListKind, shown: string, owners: readonly Owner[]): string {
  const all = owners.map(wordsFor).join(' and ');
  return `NOT executed: "${showText(shown)}" names more than one ${wordFor(kind)}: ${all}. Use the endpoint of the server that you mean, or have one of them renamed`;
}

function wordFor(kind: ListKind): string {
  return WORDS.get(kind) ?? 'item';
}

function wordsFor({ server, key }: Owner): string {
  return `"${showText(key)}" of the server "${server}"`;
}
