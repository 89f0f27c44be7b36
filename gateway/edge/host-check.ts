import type { IncomingMessage } from 'node:http';
import { cut, showText } from '../../core/display';
import type { Refusal } from '../wire/refusal';
import { refusalOf } from '../wire/refusal';
import { isLoopback, readHostName } from './host-names';
import type { HostName } from './host-names';
import { publicOrigin } from './resource';
import type { EdgeSettings } from './settings';

type Addresses = Pick<EdgeSettings, 'host' | 'publicUrl' | 'hosts' | 'origins'>;

/** `found` is what was refused, for the log: shortened, and with nothing hidden in it. */
export type HostCheck =
  | { readonly ok: true; readonly origin: string | null }
  | { readonly ok: false; readonly refusal: Refusal; readonly reason: 'host' | 'origin'; readonly found: string };

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const LONGEST_FOUND = 200;

/**
 * Whether a request came under a name of this gateway, and from no foreign web page: a page whose own name was
 * re-bound to this machine's address (DNS rebinding) gives that name away in Host and in Origin. Read from the raw
 * headers: where one stands twice, somebody else may take the other.
 */
export function checkHost(settings: Addresses, req: IncomingMessage): HostCheck {
  const hosts = req.headersDistinct['host'] ?? [];
  const [host = ''] = hosts;
  const isPath = req.url?.startsWith('/') === true;
  if (hosts.length !== 1 || !isPath || !isOwnHost(settings, req, readHostName(host))) {
    const message =
      'The Host header names none of the names of this gateway; HOLDPOINT_GATEWAY_HOSTS lists further ones';
    const found = shown(isPath ? hosts : ['no path']);
    return { ok: false, refusal: refusalOf(403, message), reason: 'host', found };
  }
  const origins = req.headersDistinct['origin'] ?? [];
  const [origin] = origins;
  if (origin === undefined) return { ok: true, origin: null };
  if (origins.length === 1 && isAllowedOrigin(settings, req, origin)) return { ok: true, origin };
  const message = 'The Origin of this request is not allowed; HOLDPOINT_GATEWAY_ORIGINS lists those that are';
  return {
    ok: false,
    refusal: refusalOf(403, message),
    reason: 'origin',
    found: shown(origins),
  };
}

function shown(values: readonly string[]): string {
  return showText(cut(values.join(', '), LONGEST_FOUND));
}

function isOwnHost(settings: Addresses, req: IncomingMessage, host: HostName | null): boolean {
  if (host === null) return false;
  const { protocol, hostname, port } = new URL(publicOrigin(settings, req));
  const usualPort = protocol === 'https:' ? 443 : 80;
  const publicPort = port === '' ? usualPort : Number(port);
  if (host.name === hostname && (host.port ?? usualPort) === publicPort) return true;
  if (isLoopback(settings.host) && LOOPBACK_NAMES.includes(host.name))
    return (host.port ?? 80) === req.socket.localPort;
  return settings.hosts.some((entry) => {
    const listed = readHostName(entry);
    return listed !== null && listed.name === host.name && (listed.port === null || listed.port === host.port);
  });
}

function isAllowedOrigin(settings: Addresses, req: IncomingMessage, given: string): boolean {
  const origin = given.toLowerCase();
  if (settings.origins.includes(origin) || origin === publicOrigin(settings, req)) return true;
  if (!isLoopback(settings.host) || !URL.canParse(origin)) return false;
  const { protocol, hostname, origin: own } = new URL(origin);
  return own === origin && /^https?:$/.test(protocol) && LOOPBACK_NAMES.includes(hostname);
}
