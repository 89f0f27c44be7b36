import type { IncomingMessage } from 'node:http';
import { hostInUrl } from './host-names';
import type { EdgeSettings } from './settings';

const RESOURCE = /^\/mcp(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$/;

/** Where the metadata of protected resources stand (RFC 9728, section 3). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Whether this is the path of an endpoint: `/mcp`, or `/mcp/` and the name of a server. */
export function isResourcePath(path: string): boolean {
  return RESOURCE.test(path);
}

/** The origin that clients use. Where none is set it is known once the port is, so it is asked for each request. */
export function publicOrigin(
  { publicUrl, host }: Pick<EdgeSettings, 'publicUrl' | 'host'>,
  req: Pick<IncomingMessage, 'socket'>,
): string {
  return publicUrl ?? new URL(`http://${hostInUrl(host)}:${req.socket.localPort ?? 0}`).origin;
}
