import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maskSecrets } from '../../activities/masking';
import { readConsoleSettings } from '../../console/settings';
import { startConsole, type RunningConsole } from '../../console/start-console';
import { readHead } from '../../ledger/audit-read';
import { MINUTE_MS } from '../support/clock';
import { eventually } from '../support/eventually';
import { startMailServer, type MailServer } from '../support/mail-server';
import { notifyStage, type Asked, type NotifyStage } from '../support/notify-stage';
import { field } from '../support/policy-fixture';

const EVERY_EVENT = ['opened', 'escalated', 'reminder', 'closed', 'unknown'];
const PASSWORD = 'hunter2-hunter2';

let mails: MailServer;
let stage: NotifyStage;
let folder: string;
let running: RunningConsole;

beforeAll(async () => {
  mails = await startMailServer();
});
afterAll(() => mails.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-notify-'));
  stage = await notifyStage();
  running = await consoleOf(stage);
});
afterEach(async () => {
  await running.stop();
  await stage.close();
  await rm(folder, { recursive: true });
});

/** The real console, without a way to Temporal: whatever it would decide shows as a failure. */
async function consoleOf({ ledger, fresh: { log } }: NotifyStage): Promise<RunningConsole> {
  const keyFile = join(folder, 'console.key');
  await writeFile(keyFile, randomBytes(32).toString('base64url'), { mode: 0o600 });
  const read = readConsoleSettings({ HOLDPOINT_CONSOLE_KEY_FILE: keyFile, HOLDPOINT_CONSOLE_PORT: '0' });
  if (!read.ok) throw new Error(read.problems.join());
  const connect = () => Promise.reject(new Error('nothing may be sent'));
  const started = await startConsole({ settings: read.settings, ledger, connect, log });
  if (!started.ok) throw new Error(started.detail);
  return started.console;
}

/** Everything that any channel says of one request from its opening to its outcome. */
async function allNotices(): Promise<{ readonly asked: Asked; readonly texts: readonly string[] }> {
  const from = mails.received.length;
  await stage.relay({
    routes: [
      { events: [...EVERY_EVENT, 'outcome'], channels: ['slack', 'teams', 'mail'] },
      { events: EVERY_EVENT, channels: ['pager'] },
    ],
    smtp: `smtp://127.0.0.1:${mails.port}`,
    to: ['people@ops.example'],
    more: { consoleUrl: running.url },
  });
  const args = maskSecrets({ db: { password: PASSWORD }, sql: 'UNBOUND ARGUMENT' }, ['/db/password'], randomBytes(32));
  const asked = await stage.ask({
    arguments: args,
    material: [field('connection', args['db']!, 'json'), field('environment', 'production')],
    note: 'The human said yes',
  });
  await stage.settled();
  stage.clock.advance(10 * MINUTE_MS);
  await stage.ledger.advanceRequest(asked.request.operationId);
  await stage.settled();
  stage.clock.advance(15 * MINUTE_MS);
  await stage.settled();
  const pending = await linksDoNothing(asked, textsSince(from));
  await stage.answer(asked, 'allow');
  await stage.settled();
  await stage.dispatch(asked.call);
  const { operationId } = asked.request;
  await stage.ledger.recordOutcome(operationId, { outcome: 'unknown', detail: 'server said: TOOL WORDS' });
  await stage.settled();
  await stage.ledger.settle({ operationId, outcome: 'failed', by: 'omar', reason: 'looked at it' });
  await eventually(async () => {
    await stage.settled();
    expect(mails.received.length - from).toBe(8);
  });
  expect(pending).toBe('pending');
  return { asked, texts: textsSince(from) };
}

function textsSince(from: number): readonly string[] {
  const posted = [stage.slack, stage.teams, stage.pager].flatMap(({ received }) => received.map(({ body }) => body));
  return [
    ...posted,
    ...mails.received.slice(from).flatMap(({ headers, text, html }) => [headers['subject'] ?? '', text, html]),
  ];
}

function urlsIn(texts: readonly string[]): ReadonlySet<string> {
  const found = texts.flatMap((text) => text.match(/[a-z]+:\/\/[^\s"<>]+/g) ?? []);
  return new Set(found.filter((url) => !url.startsWith('http://adaptivecards.io/schemas/')));
}

const pathOf = (url: string): string => url.slice(running.url.length);

/** What a mail scanner does; answers where the request stands after it. */
async function linksDoNothing({ request }: Asked, texts: readonly string[]): Promise<string> {
  const { db } = stage.fresh.store;
  const before = await readHead(db);
  const urls = urlsIn(texts);
  expect([...urls]).toEqual([`${running.url}/requests/${request.operationId}?revision=1`]);
  for (const url of urls) {
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status, headers } = await fetch(url, { method, redirect: 'manual' });
      expect(headers.get('set-cookie')).toBeNull();
      // Nobody is told whether there is such a request.
      if (method === 'HEAD') expect([303, 401]).toContain(status);
      else expect([status, headers.get('location')]).toEqual([303, `/sign-in?to=${encodeURIComponent(pathOf(url))}`]);
    }
  }
  expect(await readHead(db)).toEqual(before);
  const row = await db.selectFrom('requests').select('state').executeTakeFirstOrThrow();
  return row.state;
}

it('every link of every notice leads to a page that asks to sign in, and fetching it changes nothing [WEB-1] [WEB-2]', async () => {
  const { asked, texts } = await allNotices();
  const { operationId } = asked.request;
  expect([...urlsIn(texts)].sort()).toEqual([
    `${running.url}/operations/${operationId}`,
    `${running.url}/requests/${operationId}?revision=1`,
  ]);
});

it('no notice holds what signs in, decides, or names who decides; a secret is its keyed token [SCREEN-12] [WEB-1]', async () => {
  const { asked, texts } = await allNotices();
  const all = texts.join('\n');
  // Slack, Teams, mail: opened, escalated, reminder, closed, unknown, outcome twice, found. PagerDuty: the same but outcomes.
  expect(stage.slack.received.length + stage.teams.received.length + stage.pager.received.length).toBe(8 + 8 + 6);
  expect(all).toMatch(/secret:[0-9a-f]{32}/);
  expect(all).not.toContain(PASSWORD);
  // A link to sign in, a token, the parts of a decision and of a form.
  expect(all).not.toMatch(
    /code=|token|csrf|signature|sha256:|<form|<input|<button|Action\.(?!OpenUrl)|"type":"(actions|button)"/i,
  );
  expect(all).not.toContain(asked.request.bindingDigest);
  // Deciders, approvers, who settled; what is not shown; words of the model and of servers.
  expect(all).not.toMatch(/\br1\b|\bdba\b|dba-leads|omar|UNBOUND|said yes|TOOL WORDS|looked at it/);
  const posted = [...stage.slack.received, ...stage.teams.received].map(({ body }) => body).join();
  expect(posted).not.toMatch(/slackcode|teamssig|R0123456789/);
  expect(JSON.stringify(stage.fresh.log.entries)).not.toMatch(/slackcode|teamssig|R0123456789/);
});
