import type { IncomingMessage } from 'node:http';
import { cut, showText } from '../core/display';
import { hostInUrl, isLoopback, readHostName } from './host-names';
import type { HostName } from './host-names';

/** Under which names a server of ours is reached, and which web pages may ask it. */
export interface Addresses {
  readonly host: string;
  /** The origin that clients use; null: http, `host` and the port that it is bound to. */
  readonly publicUrl: string | null;
  /** Further hosts, `name` (with any port) or `name:port`. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
}

/** `found` is what was refused, for the log: shortened, and with nothing hidden in it. */
export type HostCheck =
  | { readonly ok: true; readonly origin: string | null }
  | { readonly ok: false; readonly reason: 'host' | 'origin'; readonly found: string };

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const LONGEST_FOUND = 200;

/**
 * Whether a request came under a name of this server, and from no foreign web page: a page whose own name was
 * re-bound to this machine's address (DNS rebinding) gives that name away in Host and in Origin. Read from the raw
 * headers: where one stands twice, somebody else may take the other.
 */
export function checkHost(addresses: Addresses, req: IncomingMessage): HostCheck {
  const hosts = req.headersDistinct['host'] ?? [];
  const [host = ''] = hosts;
  const isPath = req.url?.startsWith('/') === true;
  if (hosts.length !== 1 || !isPath || !isOwnHost(addresses, req, readHostName(host)))
    return { ok: false, reason: 'host', found: shown(isPath ? hosts : ['no path']) };
  const origins = req.headersDistinct['origin'] ?? [];
  const [origin] = origins;
  if (origin === undefined) return { ok: true, origin: null };
  if (origins.length === 1 && isAllowedOrigin(addresses, req, origin)) return { ok: true, origin };
  return { ok: false, reason: 'origin', found: shown(origins) };
}

/** The origin that clients use. Where none is set it is known once the port is, so it is asked for each request. */
export function publicOrigin(
  { publicUrl, host }: Pick<Addresses, 'publicUrl' | 'host'>,
  req: Pick<IncomingMessage, 'socket'>,
): string {
  return publicUrl ?? new URL(`http://${hostInUrl(host)}:${req.socket.localPort ?? 0}`).origin;
}

function shown(values: readonly string[]): string {
  return showText(cut(values.join(', '), LONGEST_FOUND));
}

function isOwnHost(addresses: Addresses, req: IncomingMessage, host: HostName | null): boolean {
  if (host === null) return false;
  const { protocol, hostname, port } = new URL(publicOrigin(addresses, req));
  const usualPort = protocol === 'https:' ? 443 : 80;
  const publicPort = port === '' ? usualPort : Number(port);
  if (host.name === hostname && (host.port ?? usualPort) === publicPort) return true;
  if (isLoopback(addresses.host) && LOOPBACK_NAMES.includes(host.name))
    return (host.port ?? 80) === req.socket.localPort;
  return addresses.hosts.some((entry) => {
    const listed = readHostName(entry);
    return listed !== null && listed.name === host.name && (listed.port === null || listed.port === host.port);
  });
}

function isAllowedOrigin(addresses: Addresses, req: IncomingMessage, given: string): boolean {
  const origin = given.toLowerCase();
  if (addresses.origins.includes(origin) || origin === publicOrigin(addresses, req)) return true;
  if (!isLoopback(addresses.host) || !URL.canParse(origin)) return false;
  const { protocol, hostname, origin: own } = new URL(origin);
  return own === origin && /^https?:$/.test(protocol) && LOOPBACK_NAMES.includes(hostname);
}
