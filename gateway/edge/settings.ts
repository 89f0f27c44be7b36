import { readAddresses } from '../../web/read-addresses';
import { isPrincipal } from './principal';
import { readOrigin, readScope, readTrustedUrl, SettingReader } from '../../web/setting-values';
import type { Read } from '../../web/setting-values';
import { isTokenForm } from './token-form';
import { readTokenFile } from './token-file';

/** Who may come in by an OAuth access token. */
export interface OAuthSettings {
  readonly issuer: string;
  /** Audiences that count; null: the URL of the endpoint that is asked, or of the whole gateway. */
  readonly audiences: readonly string[] | null;
  /** Null: the address that the issuer's metadata names. */
  readonly jwksUrl: string | null;
  /** Scopes without which nothing is served. */
  readonly scopes: readonly string[];
  /** A further scope for tools/call; null: none. */
  readonly callScope: string | null;
  /** Stands before `sub` in the name of a subject. */
  readonly subjectPrefix: string;
}

/** What the gateway's edge is told by its environment. */
export interface EdgeSettings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The origin that clients use; null: http, `host` and the port that it is bound to. */
  readonly publicUrl: string | null;
  /** Further hosts, `name` (with any port) or `name:port`. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly tokensFile: string | null;
  readonly oauth: OAuthSettings | null;
  readonly messagesPerMinute: number;
  readonly waitForMs: number;
  readonly sessionIdleMs: number;
  readonly sessionsPerRequester: number;
}

export type ReadEdgeSettings =
  | { readonly ok: true; readonly settings: EdgeSettings }
  /** Every problem, one sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly string[] };

const PREFIX = 'HOLDPOINT_GATEWAY';
const OAUTH = `${PREFIX}_OAUTH`;
const OAUTH_NAMES = ['AUDIENCE', 'JWKS_URL', 'SCOPES', 'CALL_SCOPE', 'SUBJECT_PREFIX'];
const MINUTE_MS = 60_000;

/** Reads the settings of the gateway's edge and reports all that is wrong with them at once. */
export function readEdgeSettings(env: NodeJS.ProcessEnv): ReadEdgeSettings {
  const from = new SettingReader(env);
  const settings: EdgeSettings = {
    ...readAddresses(from, { prefix: PREFIX, port: 8484, users: 'clients' }),
    origins: from.list(`${PREFIX}_ORIGINS`, readOrigin),
    ...identitiesOf(from),
    ...limitsOf(from),
  };
  const { problems } = from;
  return problems.length === 0 ? { ok: true, settings } : { ok: false, problems };
}

function identitiesOf(from: SettingReader): Pick<EdgeSettings, 'tokensFile' | 'oauth'> {
  const tokensFile = from.read(`${PREFIX}_TOKENS`, tokensFileOf);
  const oauth = oauthOf(from);
  if (from.text(`${PREFIX}_TOKENS`) === null && from.text(`${OAUTH}_ISSUER`) === null) {
    from.problems.push(
      `The gateway serves nobody whom it does not know: set ${PREFIX}_TOKENS to a file of local tokens, ` +
        `or ${OAUTH}_ISSUER to an OAuth authorization server`,
    );
  }
  return { tokensFile, oauth };
}

function tokensFileOf(name: string, text: string): Read<string> {
  if (isTokenForm(text)) return { problem: `${name} holds a token itself; it names the file of local tokens` };
  const read = readTokenFile(text);
  return read.ok ? { value: text } : { problem: `${name}: ${text}: ${read.detail}` };
}

function oauthOf(from: SettingReader): OAuthSettings | null {
  const issuer = from.read(`${OAUTH}_ISSUER`, readTrustedUrl);
  const audiences = from.text(`${OAUTH}_AUDIENCE`)?.split(/\s+/) ?? null;
  const oauth = {
    issuer: issuer ?? '',
    audiences,
    jwksUrl: from.read(`${OAUTH}_JWKS_URL`, readTrustedUrl),
    scopes: scopesOf(from, `${OAUTH}_SCOPES`),
    callScope: from.read(`${OAUTH}_CALL_SCOPE`, readScope),
    subjectPrefix: from.read(`${OAUTH}_SUBJECT_PREFIX`, prefixOf) ?? 'user:',
  };
  if (from.text(`${OAUTH}_ISSUER`) !== null) return oauth;
  const idle = OAUTH_NAMES.map((name) => `${OAUTH}_${name}`).filter((name) => from.text(name) !== null);
  if (idle.length > 0) from.problems.push(`${idle.join(', ')}: without ${OAUTH}_ISSUER this has no effect; set it too`);
  return null;
}

function scopesOf(from: SettingReader, name: string): readonly string[] {
  return from.list(name, readScope);
}

function prefixOf(name: string, text: string): Read<string> {
  if (text === 'none') return { value: '' };
  if (isPrincipal(text) && isPrincipal(`${text}x`)) return { value: text };
  return {
    problem: `${name} stands before a subject's name, such as "user:", or is "none"; not ${JSON.stringify(text)}`,
  };
}

function limitsOf(
  from: SettingReader,
): Pick<EdgeSettings, 'messagesPerMinute' | 'waitForMs' | 'sessionIdleMs' | 'sessionsPerRequester'> {
  const number = (name: string, what: string, [min, instead, max]: readonly [number, number, number]): number =>
    from.number(`${PREFIX}_${name}`, { what, min, max, instead, whole: name !== 'WAIT_FOR' });
  return {
    messagesPerMinute: number('RATE', 'a number of messages a minute', [1, 600, 1_000_000]),
    waitForMs: number('WAIT_FOR', 'a number of seconds', [0, 4, 3_600]) * 1_000,
    sessionIdleMs: number('SESSION_IDLE', 'a number of minutes', [1, 30, 10_080]) * MINUTE_MS,
    sessionsPerRequester: number('SESSIONS', 'a number of sessions', [1, 50, 10_000]),
  };
}
