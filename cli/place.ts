import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pino from 'pino';
import { createLedger, type Ledger, type Trust } from '../ledger/ledger';
import { openStore } from '../ledger/open-store';
import { isRunning, readDevFile, type DevFile } from './dev/dev-file';
import { CliFailure } from './failure';
import type { Io } from './io';
import { safe } from './text';

export const STATE_DIR = '.holdpoint';
export const LEDGER_FILE = 'ledger.db';

/**
 * Which Holdpoint a command is about: the one that the environment names, else `holdpoint dev` of this folder. Never a
 * mixture: a ledger of one and a Temporal of the other would know nothing of each other.
 */
export type Place =
  | { readonly kind: 'environment'; readonly ledgerUrl: string | null; readonly trust: Trust }
  | {
      readonly kind: 'dev';
      readonly stateDir: string;
      readonly dev: DevFile | null;
      readonly ledgerUrl: string | null;
    };

export interface PlaceOptions {
  readonly state?: string;
}

/** Finds the place. `--state` wins over the environment, and the environment over `.holdpoint` in this folder. */
export async function findPlace({ env, cwd }: Pick<Io, 'env' | 'cwd'>, { state }: PlaceOptions): Promise<Place> {
  const ledgerUrl = env['HOLDPOINT_LEDGER_URL'] ?? '';
  const named = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some(
    (name) => (env[name] ?? '') !== '',
  );
  if (state === undefined && (ledgerUrl !== '' || named)) {
    // As the worker of that environment reads it.
    const trust = env['HOLDPOINT_TRUST'] === 'namespace' ? 'namespace' : 'signatures';
    return { kind: 'environment', ledgerUrl: ledgerUrl === '' ? null : ledgerUrl, trust };
  }
  const stateDir = resolve(cwd, state ?? STATE_DIR);
  const file = join(stateDir, LEDGER_FILE);
  const found = await readDevFile(stateDir);
  const dev = found !== null && isRunning(found) ? found : null;
  return { kind: 'dev', stateDir, dev, ledgerUrl: existsSync(file) ? pathToFileURL(file).href : null };
}

/** Opens the ledger of a place for one command. Reading never makes or migrates one; `create` is for `policy apply`. */
export async function withLedger<T>(
  place: Place,
  work: (ledger: Ledger) => Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const { ledgerUrl } = place;
  if (ledgerUrl === null) throw noLedger(place);
  if (!create) assertThere(ledgerUrl);
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }), { migrate: create });
  try {
    return await work(createLedger(store, { defaultTrust: defaultTrustOf(place) }));
  } finally {
    await store.close();
  }
}

/** Which decisions count at a place where the policy does not say. */
export function defaultTrustOf(place: Place): Trust {
  return place.kind === 'dev' ? 'namespace' : place.trust;
}

function noLedger(place: Place): CliFailure {
  if (place.kind === 'environment') {
    return new CliFailure(
      'unreachable',
      'No ledger is named. Nothing was read or recorded.',
      'Set HOLDPOINT_LEDGER_URL to file:/absolute/path/ledger.db or postgres://…, the same one that the worker uses; or name a folder of "holdpoint dev" with --state.',
    );
  }
  return new CliFailure(
    'unreachable',
    `There is no Holdpoint in ${safe(place.stateDir)}. Nothing was read or recorded.`,
    'Start one with "holdpoint dev", go to its folder, or set HOLDPOINT_LEDGER_URL and TEMPORAL_ADDRESS.',
  );
}

/** Opening makes a ledger where there is none; a mistyped path would then look like an empty one. */
function assertThere(ledgerUrl: string): void {
  const url = URL.canParse(ledgerUrl) ? new URL(ledgerUrl) : null;
  if (url?.protocol !== 'file:' || url.host !== '' || existsSync(fileURLToPath(url))) return;
  throw new CliFailure(
    'unreachable',
    `There is no ledger at ${safe(fileURLToPath(ledgerUrl))}. Nothing was read or recorded.`,
    'Correct HOLDPOINT_LEDGER_URL; a new ledger is made by "holdpoint policy apply FILE".',
  );
}
