import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEdgeSettings } from '../../gateway/edge/settings';

let folder: string;
let tokens: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-edge-'));
  tokens = join(folder, 'tokens.json');
  writeFileSync(tokens, '{"v":1,"tokens":[]}', { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const G = 'HOLDPOINT_GATEWAY';
const env = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({ [`${G}_TOKENS`]: tokens, ...more });
const problemsOf = (given: NodeJS.ProcessEnv): readonly string[] => {
  const read = readEdgeSettings(given);
  return read.ok ? [] : read.problems;
};
const settingsOf = (given: NodeJS.ProcessEnv) => {
  const read = readEdgeSettings(given);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.settings;
};

describe('readEdgeSettings', () => {
  it('needs no more than a file of tokens', () => {
    expect(settingsOf(env())).toEqual({
      host: '127.0.0.1',
      port: 8484,
      publicUrl: null,
      hosts: [],
      origins: [],
      tokensFile: tokens,
      oauth: null,
      messagesPerMinute: 600,
      waitForMs: 4_000,
      sessionIdleMs: 1_800_000,
      sessionsPerRequester: 50,
    });
  });

  it('reads every setting', () => {
    const given = {
      [`${G}_HOST`]: '0.0.0.0',
      [`${G}_PORT`]: '0',
      [`${G}_PUBLIC_URL`]: 'https://GW.example:443/',
      [`${G}_HOSTS`]: 'gateway gateway.internal:8484, [::1]:9',
      [`${G}_ORIGINS`]: 'https://app.example vscode-webview://abc',
      [`${G}_TOKENS`]: '',
      [`${G}_OAUTH_ISSUER`]: 'https://login.example/realms/a',
      [`${G}_OAUTH_AUDIENCE`]: 'api://holdpoint https://gw.example/mcp',
      [`${G}_OAUTH_JWKS_URL`]: 'http://127.0.0.1:9000/keys',
      [`${G}_OAUTH_SCOPES`]: 'mcp tools:list',
      [`${G}_OAUTH_CALL_SCOPE`]: 'tools:call',
      [`${G}_OAUTH_SUBJECT_PREFIX`]: 'okta|',
      [`${G}_RATE`]: '60',
      [`${G}_WAIT_FOR`]: '0.5',
      [`${G}_SESSION_IDLE`]: '5',
      [`${G}_SESSIONS`]: '3',
    };
    expect(settingsOf(given)).toEqual({
      host: '0.0.0.0',
      port: 0,
      publicUrl: 'https://gw.example',
      hosts: ['gateway', 'gateway.internal:8484', '[::1]:9'],
      origins: ['https://app.example', 'vscode-webview://abc'],
      tokensFile: null,
      oauth: {
        issuer: 'https://login.example/realms/a',
        audiences: ['api://holdpoint', 'https://gw.example/mcp'],
        jwksUrl: 'http://127.0.0.1:9000/keys',
        scopes: ['mcp', 'tools:list'],
        callScope: 'tools:call',
        subjectPrefix: 'okta|',
      },
      messagesPerMinute: 60,
      waitForMs: 500,
      sessionIdleMs: 300_000,
      sessionsPerRequester: 3,
    });
  });

  it('puts "user:" before a subject where nothing is said, and nothing where "none" is said', () => {
    const prefix = (more: Record<string, string>) =>
      settingsOf(env({ [`${G}_OAUTH_ISSUER`]: 'https://login.example', ...more })).oauth?.subjectPrefix;
    expect(prefix({})).toBe('user:');
    expect(prefix({ [`${G}_OAUTH_SUBJECT_PREFIX`]: '' })).toBe('user:');
    expect(prefix({ [`${G}_OAUTH_SUBJECT_PREFIX`]: 'none' })).toBe('');
  });

  it('refuses to serve everybody, and says what to set', () => {
    expect(problemsOf({})).toEqual([
      'The gateway serves nobody whom it does not know: set HOLDPOINT_GATEWAY_TOKENS to a file of local tokens, ' +
        'or HOLDPOINT_GATEWAY_OAUTH_ISSUER to an OAuth authorization server',
    ]);
  });

  it('reports all problems at once', () => {
    const problems = problemsOf({
      [`${G}_PORT`]: '70000',
      [`${G}_ORIGINS`]: '*',
      [`${G}_RATE`]: '0',
      [`${G}_SESSIONS`]: '2.5',
    });
    expect(problems).toHaveLength(5);
    expect(problems[0]).toBe('HOLDPOINT_GATEWAY_PORT is a port number (0 takes a free one), 0 to 65535, not "70000"');
  });

  it.each([
    ['HOST', '0.0.0.0', /every address of this machine; set HOLDPOINT_GATEWAY_PUBLIC_URL/],
    ['HOST', '::', /every address of this machine/],
    ['HOST', 'fe80::1%eth0', /is a host name or an IP address/],
    ['PUBLIC_URL', 'gw.example', /is an address without path/],
    ['PUBLIC_URL', 'https://gw.example/base', /is an address without path/],
    ['PUBLIC_URL', 'https://gw.example/?a', /is an address without path/],
    ['HOSTS', 'https://gw.example', /lists hosts as name or name:port/],
    ['HOSTS', '*.example', /lists hosts as name or name:port/],
    ['ORIGINS', 'null', /lists origins such as/],
    ['ORIGINS', 'https://app.example/page', /lists origins such as/],
    ['RATE', 'many', /is a number of messages a minute, 1 to 1000000, not "many"/],
    ['RATE', '1e3', /is a number of messages a minute/],
    ['WAIT_FOR', '-1', /is a number of seconds, 0 to 3600/],
    ['SESSION_IDLE', '0', /is a number of minutes, 1 to 10080/],
    ['OAUTH_ISSUER', 'http://login.example', /is an https address/],
    ['OAUTH_ISSUER', 'login.example', /is an https address/],
    ['OAUTH_SCOPES', 'mcp "x"', /a character that no scope may have/],
    ['OAUTH_SCOPES', 'mcp', /without HOLDPOINT_GATEWAY_OAUTH_ISSUER this has no effect/],
    ['OAUTH_SUBJECT_PREFIX', 'group:', /stands before a subject's name/],
  ])('refuses %s = %s', (name, value, problem) => {
    expect(problemsOf(env({ [`${G}_${name}`]: value })).join('\n')).toMatch(problem);
  });

  it('never repeats a secret', () => {
    const token = `hp_${'a'.repeat(43)}`;
    const problems = problemsOf({
      [`${G}_TOKENS`]: token,
      [`${G}_PUBLIC_URL`]: 'https://me:hunter2@gw.example',
      [`${G}_OAUTH_ISSUER`]: 'https://me:hunter2@login.example',
      [`${G}_ORIGINS`]: 'https://me:hunter2@app.example',
    });
    expect(problems).toHaveLength(4);
    expect(problems.join()).not.toMatch(/hunter2|aaa/);
  });

  it('says at the start that the file of tokens cannot be used', () => {
    const missing = join(folder, 'none.json');
    expect(problemsOf({ [`${G}_TOKENS`]: missing })).toEqual([
      `HOLDPOINT_GATEWAY_TOKENS: ${missing}: it cannot be read; make its first token, or correct the path`,
    ]);
    chmodSync(tokens, 0o644);
    expect(problemsOf(env())).toEqual([
      `HOLDPOINT_GATEWAY_TOKENS: ${tokens}: others can read it; set its mode to 0600`,
    ]);
    chmodSync(tokens, 0o600);
  });
});
