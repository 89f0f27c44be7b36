import type { ServerEntry, Transport } from '../../core/policy';

/** A server of a policy that says nothing of its tools. */
export function serverEntry(transport: Transport, identity = JSON.stringify(transport)): ServerEntry {
  return {
    name: 'orders-db',
    transport,
    hints: 'untrusted',
    session: 'independent',
    enabled: true,
    tools: {},
    identity,
  };
}

/** The same, at an address. */
export function httpServerEntry(url: string, headers: Readonly<Record<string, string>> = {}): ServerEntry {
  return serverEntry({ kind: 'http', url, headers });
}
