import { isIPv4, isIPv6 } from 'node:net';

/** A Host header, or an entry of the list of hosts. `port` is null where none is written. */
export interface HostName {
  /** Lower case; an IPv6 address in brackets. */
  readonly name: string;
  readonly port: number | null;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)(?::(\d{1,5}))?$/;

/** Reads `name`, `name:port` or `[address]:port`; null for everything else, a trailing dot included. */
export function readHostName(text: string): HostName | null {
  const [, name, port] = HOST.exec(text.toLowerCase()) ?? [];
  if (name === undefined) return null;
  return { name, port: port === undefined ? null : Number(port) };
}

/** Whether only this machine can reach a server that is bound to `host`. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

/** Whether a server that is bound to `host` is reached under every address of its machine. */
export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && /^[0:]+$/.test(host));
}

/** `host` as it stands in a URL. */
export function hostInUrl(host: string): string {
  return isIPv6(host) ? `[${host.toLowerCase()}]` : host.toLowerCase();
}
