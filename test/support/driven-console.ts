import { createMint, newSealKey, type Mint } from '../../console/sign-in/mint';
import { startConsole } from '../../console/start-console';
import { createLedger, type Ledger } from '../../ledger/ledger';
import { breakable, type BreakableStore } from './breakable-store';
import { drive, type Clock } from './driven-ledger';
import { recordedLog } from './recorded-log';
import { freshStore } from './stores';

const HOUR_MS = 3_600_000;

/** The scraper's token of these tests. */
export const SCRAPE_TOKEN = 'scrape'.repeat(8);

/** A whole console on a port of its own, over a ledger that `drive` has driven. */
export interface DrivenConsole {
  readonly url: string;
  readonly ledger: Ledger;
  readonly store: BreakableStore;
  readonly clock: Clock;
  readonly mint: Mint;
  /** Asks in the name of a person, by an API token of theirs. */
  as(person: string, path: string): Promise<Response>;
  scrape(authorization?: string): Promise<Response>;
  close(): Promise<void>;
}

/** @param startMs when the driven day begins. */
export async function startDrivenConsole(startMs: number): Promise<DrivenConsole> {
  const clock = { nowMs: startMs };
  const fresh = await freshStore('sqlite', { clock: () => clock.nowMs });
  const store = breakable(fresh.store);
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  await drive(ledger, clock);
  const key = Buffer.from(newSealKey(), 'base64url');
  const mint = createMint(key);
  const started = await startConsole({
    settings: {
      ...{ host: '127.0.0.1', port: 0, publicUrl: null, hosts: [], origins: [], oidc: null },
      ...{ key, signingKey: null, sessionMs: HOUR_MS, metricsToken: SCRAPE_TOKEN },
    },
    ledger,
    connect: () => Promise.reject(new Error('nothing is decided here')),
    log: recordedLog(),
  });
  if (!started.ok) throw new Error(started.detail);
  const { url, stop } = started.console;
  const get = (path: string, authorization: string) => fetch(url + path, { headers: { authorization } });
  return {
    ...{ url, ledger, store, clock, mint },
    as: async (person, path) => get(path, `Bearer ${await mint.mintToken(person, HOUR_MS)}`),
    scrape: (authorization = `Bearer ${SCRAPE_TOKEN}`) => get('/metrics', authorization),
    close: async () => {
      await stop();
      await fresh.remove();
    },
  };
}
