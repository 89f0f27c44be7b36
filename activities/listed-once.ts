import type { ToolListing } from './tool-server';
import type { ToolServers } from './tool-servers';

/** The same servers, each of which lists its tools once: the calls of a turn are judged by one listing. */
export function listedOnce(servers: ToolServers): ToolServers {
  const listings = new Map<string, Promise<ToolListing>>();
  return {
    get: (entry) => {
      const server = servers.get(entry);
      return {
        listTools: () => {
          const listing = listings.get(entry.identity) ?? server.listTools();
          listings.set(entry.identity, listing);
          return listing;
        },
        callTool: (call) => server.callTool(call),
        close: () => server.close(),
      };
    },
    closeAll: () => servers.closeAll(),
  };
}
