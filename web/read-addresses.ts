import type { Addresses } from './host-check';
import { hostInUrl, isEveryAddress } from './host-names';
import { readHost, readOriginUrl, type SettingReader } from './setting-values';

export interface AddressRule {
  /** Of the variables: `<prefix>_HOST` and so on. */
  readonly prefix: string;
  /** Where none is set. */
  readonly port: number;
  /** Who uses the public address, for a message: `clients`, `people`. */
  readonly users: string;
}

/** Where a server of ours listens, and by which names it is asked; `port` 0 takes a free one. */
export function readAddresses(
  from: SettingReader,
  { prefix, port, users }: AddressRule,
): Omit<Addresses, 'origins'> & { readonly port: number } {
  const host = from.text(`${prefix}_HOST`) ?? '127.0.0.1';
  const publicUrl = from.read(`${prefix}_PUBLIC_URL`, readOriginUrl);
  if (!URL.canParse(`http://${hostInUrl(host)}`)) {
    from.problems.push(`${prefix}_HOST is a host name or an IP address, not ${JSON.stringify(host)}`);
  }
  if (isEveryAddress(host) && from.text(`${prefix}_PUBLIC_URL`) === null) {
    from.problems.push(
      `${prefix}_HOST is ${host}, every address of this machine; set ${prefix}_PUBLIC_URL to the one that ${users} use`,
    );
  }
  const what = 'a port number (0 takes a free one)';
  return {
    ...{ host, publicUrl },
    port: from.number(`${prefix}_PORT`, { what, min: 0, max: 65_535, instead: port }),
    hosts: from.list(`${prefix}_HOSTS`, readHost),
  };
}
