import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNotify } from '../../worker/notify/notify-settings';

const ENV = {
  SLACK_URL: 'https://hooks.slack.example/services/T0/B0/slackcode',
  TEAMS_URL: 'https://flows.example/run?sig=teamssig',
  SMTP_PASSWORD: 'p@ss/word',
  PD_KEY: 'R0123456789ABCDEF0123456789ABCDE',
  EMPTY: '',
};

const GOOD = {
  channels: {
    dba: { slack: { url: '${SLACK_URL}' } },
    teams: { teams: { url: '${TEAMS_URL}' } },
    mail: {
      email: {
        smtp: 'smtps://hold:${SMTP_PASSWORD}@mail.example',
        from: 'Holdpoint <hold@ops.example>',
        to: ['dba@ops.example'],
      },
    },
    pager: { pagerduty: { routingKey: '${PD_KEY}' } },
  },
  routes: [
    { channels: ['dba', 'teams'] },
    {
      rules: ['production-migrations'],
      servers: ['orders-db'],
      levels: [0, 1],
      events: ['opened'],
      channels: ['pager'],
      after: '2m',
    },
    { events: ['outcome'], channels: ['mail'] },
  ],
  reminderBefore: '10m',
  consoleUrl: 'https://holdpoint.example/',
  requesters: { 'user:amira': 'amira@ops.example' },
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-notify-'));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (settings: unknown) => readNotify(JSON.stringify(settings), ENV);

async function problems(change: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const answer = await read({ ...GOOD, ...change });
  return answer.ok ? [] : answer.problems;
}

const channel = (entry: unknown) => ({ ...GOOD, channels: { ...GOOD.channels, dba: entry } });

async function inFile(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe('the settings of notices', () => {
  it('are read with their references, and say what holds where they are silent', async () => {
    expect(await read(GOOD)).toEqual({
      ok: true,
      notify: {
        channels: {
          dba: { kind: 'slack', url: 'https://hooks.slack.example/services/T0/B0/slackcode' },
          teams: { kind: 'teams', url: 'https://flows.example/run?sig=teamssig' },
          mail: {
            kind: 'email',
            server: {
              host: 'mail.example',
              port: 465,
              secure: true,
              requireTls: false,
              login: { user: 'hold', password: 'p@ss/word' },
            },
            from: 'Holdpoint <hold@ops.example>',
            to: ['dba@ops.example'],
          },
          pager: {
            kind: 'pagerduty',
            url: 'https://events.pagerduty.com/v2/enqueue',
            routingKey: 'R0123456789ABCDEF0123456789ABCDE',
          },
        },
        routes: [
          {
            place: 'routes.0',
            rules: null,
            servers: null,
            levels: null,
            events: ['opened', 'escalated', 'reminder', 'closed', 'unknown', 'emergency'],
            channels: ['dba', 'teams'],
            afterMs: 0,
          },
          {
            place: 'routes.1',
            rules: ['production-migrations'],
            servers: ['orders-db'],
            levels: [0, 1],
            events: ['opened'],
            channels: ['pager'],
            afterMs: 120_000,
          },
          {
            place: 'routes.2',
            rules: null,
            servers: null,
            levels: null,
            events: ['outcome'],
            channels: ['mail'],
            afterMs: 0,
          },
        ],
        reminderBeforeMs: 600_000,
        consoleUrl: 'https://holdpoint.example',
        requesters: { 'user:amira': 'amira@ops.example' },
      },
    });
    const { reminderBefore: _reminder, consoleUrl: _url, requesters: _people, ...least } = GOOD;
    expect(await read(least)).toMatchObject({
      notify: { reminderBeforeMs: 300_000, consoleUrl: null, requesters: {} },
    });
  });

  it('are in the documents as they may be written', async () => {
    const document = await readFile(join(__dirname, '../../docs/notifications.md'), 'utf8');
    const [, example = ''] = /```yaml\n(channels:[^`]*)```/.exec(document) ?? [];
    const secret = await inFile('teams-url', ENV.TEAMS_URL);
    const path = await inFile('example.yaml', example.replace('/run/secrets/teams-url', secret));
    const env = { SLACK_URL: ENV.SLACK_URL, PAGERDUTY_KEY: ENV.PD_KEY, SMTP_PASSWORD: ENV.SMTP_PASSWORD };
    expect(await readNotify(path, env)).toMatchObject({
      ok: true,
      notify: {
        channels: { 'dba-chat': { kind: 'slack' }, 'dba-teams': { kind: 'teams' }, 'on-call': {}, mail: {} },
        requesters: { 'user:amira': 'amira@example.com' },
      },
    });
  });

  it('may be a YAML or JSON file, and a secret may be a file of its own', async () => {
    const secret = await inFile('slack-url', `${ENV.SLACK_URL}\n`);
    const yaml = `channels:\n  dba:\n    slack: { url: { file: ${secret} } }\nroutes:\n  - channels: [dba]\n`;
    const expected = { notify: { channels: { dba: { kind: 'slack', url: ENV.SLACK_URL } } } };
    expect(await readNotify(await inFile('notify.yaml', yaml), {})).toMatchObject(expected);
    const json = JSON.stringify({
      channels: { dba: { slack: { url: { file: secret } } } },
      routes: [{ channels: ['dba'] }],
    });
    expect(await readNotify(await inFile('notify.json', json), {})).toMatchObject(expected);
  });

  it.each([
    ['{ "channels": {}, "channels": {} }', /^HOLDPOINT_NOTIFY is no JSON: /],
    [
      '/nowhere/notify.yaml',
      /^HOLDPOINT_NOTIFY is a JSON object, or the path of a JSON or YAML file that can be read$/,
    ],
  ])('%s is refused', async (given, message) => {
    expect(await readNotify(given, {})).toEqual({ ok: false, problems: [expect.stringMatching(message)] });
  });

  it('of a file that is not plain YAML are refused with the line', async () => {
    const twice = await inFile('twice.yaml', 'channels: {}\nroutes: []\nroutes: []\n');
    expect(await readNotify(twice, {})).toEqual({
      ok: false,
      problems: ['HOLDPOINT_NOTIFY names a file that is not valid YAML: line 3: Map keys must be unique'],
    });
    const alias = await inFile('alias.yaml', 'channels: &a {}\nroutes: *a\n');
    expect(await readNotify(alias, {})).toMatchObject({
      problems: [expect.stringMatching(/^HOLDPOINT_NOTIFY names a file that may not use aliases: /)],
    });
  });

  it('say everything that is wrong at once', async () => {
    expect(
      await problems({
        consoleUrl: 'holdpoint.example',
        reminderBefore: '5 minutes',
        chanels: {},
        channels: {
          dba: { slack: { url: 'https://hooks.slack.example/T0' } },
          'a b': { sms: {} },
          idle: GOOD.channels.teams,
        },
        routes: [
          { channels: ['dbq'], event: ['opened'] },
          { channels: ['dbq'] },
          { channels: ['dba', 'a b'], levels: [-1] },
        ],
      }),
    ).toEqual([
      'HOLDPOINT_NOTIFY: reminderBefore: must be a duration such as 10s, 10m, 2h or 7d; consoleUrl: must be an origin such as https://holdpoint.example; it: "chanels" is not known here (did you mean "channels"?)',
      'HOLDPOINT_NOTIFY: channels.dba.slack.url holds a secret in plain text: write ${NAME} for a variable of the environment, or { file: PATH }',
      'HOLDPOINT_NOTIFY: channels: "a b" is not 1 to 32 of A-Z a-z 0-9 _ -',
      expect.stringMatching(/^HOLDPOINT_NOTIFY: channels\.a b: it: "sms" is not known here/),
      expect.stringMatching(/^HOLDPOINT_NOTIFY: routes\.0: it: "event" is not known here \(did you mean "events"\?\)/),
      expect.stringMatching(/^HOLDPOINT_NOTIFY: routes\.2: levels\.0: /),
      'HOLDPOINT_NOTIFY: routes.1: there is no channel "dbq" (did you mean "dba"?)',
    ]);
  });

  it.each([
    ['an unset reference', { slack: { url: '${NONE}' } }, 'dba.slack.url names ${NONE}, which is not set'],
    ['an empty reference', { slack: { url: '${EMPTY}' } }, 'dba.slack.url names ${EMPTY}, which is not set'],
    [
      'a hook without TLS',
      { teams: { url: 'http://${PD_KEY}.example' } },
      'dba.teams.url is an https address without user and password (http only on a loopback address)',
    ],
    [
      'two kinds',
      { slack: { url: '${SLACK_URL}' }, teams: { url: '${TEAMS_URL}' } },
      'dba: it: must hold one of slack, teams, email and pagerduty',
    ],
    ['no kind', {}, 'dba: it: must hold one of slack, teams, email and pagerduty'],
    [
      'a file that is not there',
      { slack: { url: { file: '/nowhere/x' } } },
      "dba.slack.url names a file that cannot be read: ENOENT: no such file or directory, open '/nowhere/x'",
    ],
    [
      'a key in plain text',
      { pagerduty: { routingKey: 'R0123456789' } },
      'dba.pagerduty.routingKey holds a secret in plain text: write ${NAME} for a variable of the environment, or { file: PATH }',
    ],
    [
      'a password in plain text',
      { email: { smtp: 'smtps://u:pass@mail.example', from: 'a@b.example' } },
      'dba.email.smtp holds a secret in plain text: write ${NAME} for a variable of the environment, or { file: PATH }',
    ],
    [
      'an address of another kind',
      { email: { smtp: 'https://mail.example', from: 'a@b.example' } },
      'dba.email.smtp is smtps://user:${PASSWORD}@host:port or smtp://…, and nothing more',
    ],
    [
      'a sender with a second line',
      { email: { smtp: 'smtp://mail.example', from: 'a <a@b.example>\nBcc: x@y.example' } },
      'dba: email.from: must be a mail address, or a name and the address in < >',
    ],
    [
      'two addresses in one',
      { email: { smtp: 'smtp://mail.example', from: 'a@b.example', to: ['a@b.example, c@d.example'] } },
      'dba: email.to.0: must be one mail address, such as dana@example.com',
    ],
  ])('of a channel with %s are refused', async (_what, entry, message) => {
    expect(await problems({ ...channel(entry) })).toContain(`HOLDPOINT_NOTIFY: channels.${message}`);
  });

  it.each([
    [
      'outcome on PagerDuty',
      { events: ['outcome'], channels: ['pager'] },
      'routes.0: outcome is for the requester, so it does not go to pager, which is PagerDuty',
    ],
    [
      'a delay of what is told at once',
      { events: ['closed'], channels: ['dba'], after: '2m' },
      'routes.0: after delays opened, escalated, unknown only, and none of them is among its events',
    ],
    [
      'an unknown event',
      { events: ['open'], channels: ['dba'] },
      'routes.0: events.0: it must be one of opened, escalated, reminder, closed, outcome, unknown, emergency',
    ],
    ['no channel', { channels: [] }, expect.stringMatching(/^HOLDPOINT_NOTIFY: routes\.0: channels: /)],
  ])('of a route with %s are refused', async (_what, route, message) => {
    const rest = Object.keys(GOOD.channels).map((name) => ({ channels: [name], events: ['opened'] }));
    const told = await problems({ routes: [route, ...rest] });
    expect(told).toEqual([typeof message === 'string' ? `HOLDPOINT_NOTIFY: ${message}` : message]);
  });

  it('of a channel that no route leads to are refused', async () => {
    expect(await problems({ routes: [{ channels: ['dba', 'pager', 'mail'] }] })).toEqual([
      'HOLDPOINT_NOTIFY: channels.teams: no route leads to it',
    ]);
  });

  it('of a mail channel without people allow nothing but outcomes', async () => {
    const people = { email: { smtp: 'smtp://mail.example', from: 'a@b.example' } };
    const routes = [{ channels: ['dba', 'teams', 'pager', 'mail'] }];
    expect(await problems({ channels: { ...GOOD.channels, mail: people }, routes })).toEqual([
      'HOLDPOINT_NOTIFY: routes.0: mail has no "to", so nothing but outcome can go there, to the requester',
    ]);
    expect(await problems({ channels: { ...GOOD.channels, mail: people } })).toEqual([]);
  });

  it.each([
    ['smtp://mail.example', { host: 'mail.example', port: 587, secure: false, requireTls: false, login: null }],
    [
      'smtp://u:${SMTP_PASSWORD}@mail.example:2525',
      {
        host: 'mail.example',
        port: 2525,
        secure: false,
        requireTls: true,
        login: { user: 'u', password: 'p@ss/word' },
      },
    ],
    [
      'smtp://u:${SMTP_PASSWORD}@127.0.0.1:2525',
      { host: '127.0.0.1', port: 2525, secure: false, requireTls: false, login: { user: 'u', password: 'p@ss/word' } },
    ],
    ['${SMTP_URL}', { host: '::1', port: 465, secure: true, requireTls: false, login: { user: 'u', password: 'a@b' } }],
  ])('never let a password travel without TLS: %s', async (smtp, server) => {
    const settings = channel({ email: { smtp, from: 'a@b.example', to: ['c@d.example'] } });
    const answer = await readNotify(JSON.stringify(settings), { ...ENV, SMTP_URL: 'smtps://u:a%40b@[::1]' });
    expect(answer).toMatchObject({ ok: true, notify: { channels: { dba: { server } } } });
  });

  it('never say the value of a secret', async () => {
    const wrong = {
      dba: { slack: { url: '${SLACK_URL}#x' } },
      teams: { teams: { url: 'ftp://${TEAMS_URL}' } },
      mail: { email: { smtp: 'smtps://u:${SMTP_PASSWORD}@mail.example/path', from: 'a@b.example' } },
      pager: { pagerduty: { routingKey: '${PD_KEY} ${PD_KEY}' } },
      plain: { slack: { url: 'https://hooks.slack.example/plaincode' } },
    };
    const said = await problems({ channels: wrong });
    expect(said).toHaveLength(6);
    expect(said.join()).not.toMatch(/slackcode|teamssig|p@ss|word@|R0123|plaincode/);
  });
});
