import type { IncomingMessage } from 'node:http';
import { publicOrigin } from '../web/host-check';
import type { Addresses } from '../web/host-check';
import { isLoopback, readHostName } from '../web/host-names';

/**
 * The origin under which a browser sees the page that it asks for: the public one, or that of another name of the
 * console. For requests that passed the host check.
 */
export function ownOrigin(addresses: Addresses, req: IncomingMessage): string {
  const known = publicOrigin(addresses, req);
  const host = req.headers.host ?? '';
  const { protocol, hostname } = new URL(known);
  const isLocal = isLoopback(readHostName(host)?.name ?? '') && !isLoopback(hostname);
  const own = `${isLocal ? 'http:' : protocol}//${host}`;
  return URL.canParse(own) ? new URL(own).origin : known;
}
