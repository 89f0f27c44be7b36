import type { Addresses } from '../web/host-check';
import { readAddresses } from '../web/read-addresses';
import { readScope, readTrustedUrl, SettingReader } from '../web/setting-values';
import type { Read } from '../web/setting-values';
import { readScrapeToken, readSealKey, readSigningKey } from './sign-in/key-file';
import type { KeyFile } from './sign-in/key-file';

/** An OpenID provider by which people sign in. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client, which proves itself by PKCE alone. */
  readonly clientSecret: string | null;
  readonly scopes: readonly string[];
  /** The claim whose value is the name of a person of the policy, or one of that person's `subjects`. */
  readonly claim: string;
}

/** What the console is told by its environment. It holds secrets: never log it. */
export interface ConsoleSettings extends Addresses {
  /** 0 takes a free one. */
  readonly port: number;
  /** 32 bytes: seals sessions, sign-in links and API tokens. */
  readonly key: Uint8Array;
  /** PEM, Ed25519: signs decisions of people who are signed in. Null: the console signs none. */
  readonly signingKey: string | null;
  /** Null: people sign in by links only. */
  readonly oidc: OidcSettings | null;
  readonly sessionMs: number;
  /** By which a scraper reads the metrics and nothing else. Null: only operators read them, by their API tokens. */
  readonly metricsToken: string | null;
}

export type ReadConsoleSettings =
  | { readonly ok: true; readonly settings: ConsoleSettings }
  /** Every problem, one sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly string[] };

const PREFIX = 'HOLDPOINT_CONSOLE';
const OIDC = `${PREFIX}_OIDC`;
const OIDC_NAMES = ['CLIENT_ID', 'CLIENT_SECRET', 'SCOPES', 'CLAIM'];
const HOUR_MS = 3_600_000;

/** Reads the settings of the console and reports all that is wrong with them at once. */
export function readConsoleSettings(env: NodeJS.ProcessEnv): ReadConsoleSettings {
  const from = new SettingReader(env);
  const settings: ConsoleSettings = {
    ...readAddresses(from, { prefix: PREFIX, port: 8485, users: 'people' }),
    // No page but the console's own may ask it for anything.
    origins: [],
    key: sealKeyOf(from),
    signingKey: from.read(`${PREFIX}_SIGNING_KEY_FILE`, keyIn(readSigningKey)),
    oidc: oidcOf(from),
    sessionMs:
      from.number(`${PREFIX}_SESSION_HOURS`, { what: 'a number of hours', min: 1, max: 720, instead: 12 }) * HOUR_MS,
    metricsToken: from.read(`${PREFIX}_METRICS_TOKEN_FILE`, keyIn(readScrapeToken)),
  };
  const { problems } = from;
  return problems.length === 0 ? { ok: true, settings } : { ok: false, problems };
}

function sealKeyOf(from: SettingReader): Uint8Array {
  const name = `${PREFIX}_KEY_FILE`;
  if (from.text(name) === null) {
    from.problems.push(
      `${name} is not set; it names a file with 32 random bytes in base64url, which only you can read`,
    );
  }
  return from.read(name, keyIn(readSealKey)) ?? new Uint8Array();
}

function keyIn<T>(readKey: (file: string) => KeyFile<T>): (name: string, file: string) => Read<T> {
  return (name, file) => {
    const read = readKey(file);
    // Where somebody set the key itself, a message must not repeat it.
    return read.ok ? { value: read.key } : { problem: `${name} names a file, but ${read.detail}` };
  };
}

function oidcOf(from: SettingReader): OidcSettings | null {
  const issuer = from.read(`${OIDC}_ISSUER`, readTrustedUrl);
  const clientId = from.text(`${OIDC}_CLIENT_ID`);
  const scopes = from.list(`${OIDC}_SCOPES`, readScope);
  const oidc = {
    issuer: issuer ?? '',
    clientId: clientId ?? '',
    clientSecret: from.text(`${OIDC}_CLIENT_SECRET`),
    scopes: scopes.length === 0 ? ['openid', 'email'] : scopes,
    claim: from.text(`${OIDC}_CLAIM`) ?? 'email',
  };
  if (from.text(`${OIDC}_ISSUER`) === null) return withoutIssuer(from);
  if (clientId === null) from.problems.push(`${OIDC}_CLIENT_ID is not set; ${OIDC}_ISSUER needs it`);
  if (!oidc.scopes.includes('openid')) {
    from.problems.push(`${OIDC}_SCOPES includes openid: without it nobody is told who signed in`);
  }
  return oidc;
}

function withoutIssuer(from: SettingReader): null {
  const idle = OIDC_NAMES.map((name) => `${OIDC}_${name}`).filter((name) => from.text(name) !== null);
  if (idle.length > 0) from.problems.push(`${idle.join(', ')}: without ${OIDC}_ISSUER this has no effect; set it too`);
  return null;
}
