import { createToolServer, type ToolListing, type ToolServer, type ToolServerLog } from '../../activities/tool-server';
import type { ToolServers } from '../../activities/tool-servers';
import type { ServerEntry } from '../../core/policy';
import type { ClientSession } from '../ports';

/** What a session lists may be this old where it is only asked what its tools are; an approved call lists anew. */
const KNOWN_MS = 5_000;

/** The tools of clients' own sessions. */
export class SessionTools {
  private readonly log: ToolServerLog;
  private readonly servers = new WeakMap<object, ToolServer>();

  constructor(log: ToolServerLog) {
    this.log = log;
  }

  /** The upstream of a session, as the activities use a tool server. */
  of(session: ClientSession): ToolServer {
    return this.under(session, session);
  }

  private under(key: object, session: ClientSession): ToolServer {
    const known = this.servers.get(key);
    if (known !== undefined) return known;
    const rpc = { request: session.request.bind(session), close: () => Promise.resolve() };
    const server = createToolServer(session.server, rpc, this.log);
    this.servers.set(key, server);
    return server;
  }

  /** The tools that the session's upstream lists for it. One that is not there is looked for once more. */
  async known(session: ClientSession, tool: string): Promise<ToolListing> {
    const server = this.under(session.profile ?? session, session);
    const nowMs = performance.now();
    const listing = await server.listTools(nowMs - KNOWN_MS);
    return listing.ok && listing.tools.has(tool) ? listing : server.listTools(nowMs);
  }

  /** The tool servers for a call of this session: its own where the policy says `session: client`. */
  serversFor(session: ClientSession, others: ToolServers): ToolServers {
    return {
      get: (entry: ServerEntry) =>
        entry.session === 'client' && entry.name === session.server ? this.of(session) : others.get(entry),
      closeAll: () => Promise.resolve(),
    };
  }
}
