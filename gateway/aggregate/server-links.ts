import { setTimeout as delay } from 'node:timers/promises';
import type { ServerLink } from './server-link';

/** How long a client's first answer, and each later list, waits for servers; later ones come in when they are ready. */
export interface JoinMs {
  readonly first: number;
  readonly later: number;
}

export interface ServerLinksOptions {
  /** The names of the servers that the requester may use now, in order. */
  readonly accessible: () => Promise<readonly string[]>;
  readonly create: (server: string) => ServerLink;
  /** Called with each server that is not open to the requester any more. */
  readonly onClosed: (link: ServerLink) => void;
  readonly joinMs: JoinMs;
}

/** One client's sessions at all servers that it may use. */
export class ServerLinks {
  private readonly options: ServerLinksOptions;
  private readonly links = new Map<string, ServerLink>();
  private joinMs: number;
  private over = false;

  constructor(options: ServerLinksOptions) {
    this.options = options;
    this.joinMs = options.joinMs.first;
  }

  get(server: string): ServerLink | undefined {
    return this.links.get(server);
  }

  /** Those with a session that have declared something, in order. */
  having(capability: string): readonly ServerLink[] {
    return this.opened().filter((link) => link.declares(capability));
  }

  /** Those that the requester may use, with a session or without. */
  all(): readonly ServerLink[] {
    return [...this.links.values()];
  }

  opened(): readonly ServerLink[] {
    return this.all().filter(({ isOpen }) => isOpen);
  }

  /** Reads anew which servers there are, begins a session where there is none, and waits for that a while. */
  async refresh(): Promise<void> {
    const { accessible, create } = this.options;
    const servers = await accessible();
    if (this.over) return;
    for (const server of this.links.keys()) if (!servers.includes(server)) this.drop(server);
    const before = new Map(this.links);
    this.links.clear();
    for (const server of servers) this.links.set(server, before.get(server) ?? create(server));
    const ready = Promise.all(this.all().map((link) => link.ready()));
    await Promise.race([ready, delay(this.joinMs, undefined, { ref: false })]);
    this.joinMs = this.options.joinMs.later;
  }

  /** Ends the session at a server that the requester may not use any more. */
  drop(server: string): void {
    const link = this.links.get(server);
    if (link === undefined) return;
    this.links.delete(server);
    void link.close();
    this.options.onClosed(link);
  }

  async close(): Promise<void> {
    this.over = true;
    const links = this.all();
    this.links.clear();
    await Promise.all(links.map((link) => link.close()));
  }
}
