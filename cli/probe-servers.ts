import pino from 'pino';
import { createToolServers } from '../activities/tool-servers';
import type { Policy, ServerEntry } from '../core/policy';
import { safe } from './text';

/** Asks every server of a policy for its tools, from this machine; a warning for each that does not fit the policy. */
export async function probeServers(policy: Policy, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const servers = createToolServers({ resolveSecret: (name) => env[name], log: pino({ level: 'silent' }) });
  try {
    const enabled = Object.values(policy.servers).filter((server) => server.enabled);
    const probe = async (server: ServerEntry) => warningsOf(server, await servers.get(server).listTools());
    return (await Promise.all(enabled.map(probe))).flat();
  } finally {
    await servers.closeAll();
  }
}

type Listing = Awaited<ReturnType<ReturnType<ReturnType<typeof createToolServers>['get']>['listTools']>>;

function warningsOf(server: ServerEntry, listing: Listing): readonly string[] {
  const name = safe(server.name);
  if (!listing.ok)
    return [
      `server ${name} cannot be reached from here: ${safe(listing.detail)}. Its tools are refused until the worker reaches it`,
    ];
  const named = Object.values(server.tools).flatMap((tool) => [tool.name, ...helpersOf(tool)]);
  const missing = [...new Set(named)].filter((tool) => !listing.tools.has(tool));
  return missing.map((tool) => `server ${name} lists no tool ${safe(tool)}; what needs it is refused`);
}

function helpersOf({ version, preview, state, outcome }: ServerEntry['tools'][string]): readonly string[] {
  const reads = [version, preview, state, outcome?.source.kind === 'tool' ? outcome.source.read : null];
  return reads.flatMap((read) => (read === null ? [] : [read.tool]));
}
