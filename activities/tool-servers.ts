import type { ServerEntry } from '../core/policy';
import { connect } from './connect';
import { McpSession } from './mcp-session';
import type { ResolveSecret } from './secret-references';
import { createToolServer } from './tool-server';
import type { ToolServer, ToolServerLog } from './tool-server';

export interface ToolServers {
  /** The one connection to a server; a changed identity is another server. */
  get(server: ServerEntry): ToolServer;
  closeAll(): Promise<void>;
}

export interface ToolServersOptions {
  readonly resolveSecret: ResolveSecret;
  readonly log: ToolServerLog;
  /** How long an unused session or process is kept; 5 minutes by default. */
  readonly idleMs?: number;
}

const IDLE_MS = 300_000;

/** Keeps one warm session for each tool server of the policy. */
export function createToolServers({ resolveSecret, log, idleMs = IDLE_MS }: ToolServersOptions): ToolServers {
  const servers = new Map<string, ToolServer>();
  return {
    get({ name, identity, transport }) {
      const key = `${name} ${identity}`;
      const known = servers.get(key);
      if (known !== undefined) return known;
      const backOff = transport.kind === 'stdio';
      const session = new McpSession({ connect: () => connect(transport, resolveSecret), backOff, idleMs });
      const server = createToolServer(name, session, log);
      servers.set(key, server);
      return server;
    },
    async closeAll() {
      await Promise.all([...servers.values()].map((server) => server.close()));
      servers.clear();
    },
  };
}
