import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConsoleSettings } from '../../console/settings';

let folder: string;
let keyFile: string;
const KEY_TEXT = `${'A'.repeat(42)}E`;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-console-'));
  keyFile = file('key', `${KEY_TEXT}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
const pemOf = (type: 'ed25519' | 'x25519'): string =>
  generateKeyPairSync(type as 'ed25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
const read = (more: NodeJS.ProcessEnv): ReturnType<typeof readConsoleSettings> =>
  readConsoleSettings({ HOLDPOINT_CONSOLE_KEY_FILE: keyFile, ...more });
const problemsOf = (more: NodeJS.ProcessEnv): readonly string[] => {
  const settings = read(more);
  return settings.ok ? [] : settings.problems;
};

describe('the settings of the console', () => {
  it('need no more than the key', () => {
    expect(read({})).toEqual({
      ok: true,
      settings: {
        host: '127.0.0.1',
        port: 8485,
        publicUrl: null,
        hosts: [],
        origins: [],
        key: Buffer.from(KEY_TEXT, 'base64url'),
        signingKey: null,
        oidc: null,
        sessionMs: 43_200_000,
        metricsToken: null,
      },
    });
  });

  it('may say all of it', () => {
    const pem = pemOf('ed25519');
    const settings = read({
      HOLDPOINT_CONSOLE_HOST: '0.0.0.0',
      HOLDPOINT_CONSOLE_PORT: '0',
      HOLDPOINT_CONSOLE_PUBLIC_URL: 'https://console.example/',
      HOLDPOINT_CONSOLE_HOSTS: 'console, inner.example:8485',
      HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: file('signing.pem', pem),
      HOLDPOINT_CONSOLE_OIDC_ISSUER: 'https://login.example/realms/main',
      HOLDPOINT_CONSOLE_OIDC_CLIENT_ID: 'holdpoint',
      HOLDPOINT_CONSOLE_OIDC_CLIENT_SECRET: 's3cret',
      HOLDPOINT_CONSOLE_OIDC_SCOPES: 'openid profile',
      HOLDPOINT_CONSOLE_OIDC_CLAIM: 'preferred_username',
      HOLDPOINT_CONSOLE_SESSION_HOURS: '1',
      HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE: file('metrics.token', `${'m'.repeat(32)}\n`),
    });
    expect(settings).toEqual({
      ok: true,
      settings: {
        host: '0.0.0.0',
        port: 0,
        publicUrl: 'https://console.example',
        hosts: ['console', 'inner.example:8485'],
        origins: [],
        key: Buffer.from(KEY_TEXT, 'base64url'),
        signingKey: pem,
        oidc: {
          issuer: 'https://login.example/realms/main',
          clientId: 'holdpoint',
          clientSecret: 's3cret',
          scopes: ['openid', 'profile'],
          claim: 'preferred_username',
        },
        sessionMs: 3_600_000,
        metricsToken: 'm'.repeat(32),
      },
    });
  });

  it('takes an origin from no setting: the console has no foreign pages', () => {
    const settings = read({ HOLDPOINT_CONSOLE_ORIGINS: 'https://evil.example' });
    expect(settings.ok && settings.settings.origins).toEqual([]);
  });

  it('that are wrong are all told at once', () => {
    expect(
      problemsOf({
        HOLDPOINT_CONSOLE_KEY_FILE: '',
        HOLDPOINT_CONSOLE_HOST: '0.0.0.0',
        HOLDPOINT_CONSOLE_PORT: '99999',
        HOLDPOINT_CONSOLE_SESSION_HOURS: '0',
        HOLDPOINT_CONSOLE_OIDC_ISSUER: 'https://login.example',
        HOLDPOINT_CONSOLE_OIDC_SCOPES: 'email',
      }),
    ).toEqual([
      'HOLDPOINT_CONSOLE_HOST is 0.0.0.0, every address of this machine; set HOLDPOINT_CONSOLE_PUBLIC_URL to the one that people use',
      'HOLDPOINT_CONSOLE_PORT is a port number (0 takes a free one), 0 to 65535, not "99999"',
      'HOLDPOINT_CONSOLE_KEY_FILE is not set; it names a file with 32 random bytes in base64url, which only you can read',
      'HOLDPOINT_CONSOLE_OIDC_CLIENT_ID is not set; HOLDPOINT_CONSOLE_OIDC_ISSUER needs it',
      'HOLDPOINT_CONSOLE_OIDC_SCOPES includes openid: without it nobody is told who signed in',
      'HOLDPOINT_CONSOLE_SESSION_HOURS is a number of hours, 1 to 720, not "0"',
    ]);
  });

  it('of OpenID have no effect without an issuer, which is asked by https', () => {
    expect(problemsOf({ HOLDPOINT_CONSOLE_OIDC_CLIENT_ID: 'x', HOLDPOINT_CONSOLE_OIDC_CLAIM: 'sub' })).toEqual([
      'HOLDPOINT_CONSOLE_OIDC_CLIENT_ID, HOLDPOINT_CONSOLE_OIDC_CLAIM: without HOLDPOINT_CONSOLE_OIDC_ISSUER this has no effect; set it too',
    ]);
    const issuer = { HOLDPOINT_CONSOLE_OIDC_ISSUER: 'http://login.example', HOLDPOINT_CONSOLE_OIDC_CLIENT_ID: 'x' };
    expect(problemsOf(issuer)).toEqual([
      'HOLDPOINT_CONSOLE_OIDC_ISSUER is an https address without user and password (http only on a loopback address)',
    ]);
  });
});

describe('a key of the console', () => {
  it.each([
    ['others can read', () => file('open', KEY_TEXT, 0o640), 'others can read it; set its mode to 0600'],
    ['is not there', () => join(folder, 'none'), 'it cannot be read; make it, or correct the path'],
    ['is short', () => file('short', 'A'.repeat(42)), 'it does not hold 32 bytes in base64url'],
    ['is long', () => file('long', `${KEY_TEXT}A`), 'it does not hold 32 bytes in base64url'],
    ['is in base64', () => file('base64', `${'+'.repeat(42)}A=`), 'it does not hold 32 bytes in base64url'],
    ['is set instead of its file', () => KEY_TEXT, 'it cannot be read; make it, or correct the path'],
  ])('that %s is refused without a byte of it', (_name, path, detail) => {
    const problems = problemsOf({ HOLDPOINT_CONSOLE_KEY_FILE: path() });
    expect(problems).toEqual([expect.stringContaining(`HOLDPOINT_CONSOLE_KEY_FILE names a file, but ${detail}`)]);
    expect(problems.join()).not.toContain('AAAA');
  });

  it('that signs is a private Ed25519 key in PEM', () => {
    for (const text of ['rubbish', pemOf('x25519')]) {
      expect(problemsOf({ HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: file('signing.pem', text) })).toEqual([
        'HOLDPOINT_CONSOLE_SIGNING_KEY_FILE names a file, but it holds no private Ed25519 key in PEM',
      ]);
    }
  });

  it('that scrapes is one token, long enough not to be guessed', () => {
    for (const text of ['short', 'm'.repeat(31), `${'m'.repeat(32)} more`, `${'m'.repeat(32)}é`, 'm'.repeat(257)]) {
      expect(problemsOf({ HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE: file('metrics', text) })).toEqual([
        'HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE names a file, but it does not hold one token of 32 to 256 characters out of A-Z a-z 0-9 . _ ~ + / -',
      ]);
    }
    expect(problemsOf({ HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE: file('open', 'm'.repeat(32), 0o644) })).toEqual([
      'HOLDPOINT_CONSOLE_METRICS_TOKEN_FILE names a file, but others can read it; set its mode to 0600',
    ]);
  });
});
