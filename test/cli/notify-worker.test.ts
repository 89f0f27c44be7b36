import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLedger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import { startWorkerProcess } from '../../worker/run-worker-process';
import { readWorkerSettings } from '../../worker/worker-settings';
import { run } from '../support/cli';
import { eventually } from '../support/eventually';
import { activate, openPending, prepared } from '../support/ledger-fixture';
import { recordedLog } from '../support/recorded-log';
import { startReceiver } from '../support/webhook-receiver';

const TASK_QUEUE = `notify-${randomUUID()}`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-notify-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('a worker process that is told HOLDPOINT_NOTIFY sends notices, and stops in order', async () => {
  const receiver = await startReceiver();
  const key = join(folder, 'permit.pem');
  await run(['key', 'new', key]);
  const env = {
    HOLDPOINT_LEDGER_URL: pathToFileURL(join(folder, 'ledger.db')).href,
    HOLDPOINT_PERMIT_KEY_FILE: key,
    HOLDPOINT_HEALTH_PORT: '0',
    HOLDPOINT_NOTIFY:
      '{ "channels": { "dba": { "slack": { "url": "${SLACK_URL}" } } }, "routes": [{ "channels": ["dba"] }] }',
    SLACK_URL: receiver.url,
    TEMPORAL_ADDRESS: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
  };
  const log = recordedLog();
  const store = await openStore(env.HOLDPOINT_LEDGER_URL, log);
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  const active = await activate(ledger);
  const read = await readWorkerSettings(env, TASK_QUEUE);
  if (!read.ok) throw new Error(read.problems.join());
  const bundlePath = process.env['HOLDPOINT_TEST_BUNDLE'] ?? '';
  const started = await startWorkerProcess({ settings: read.settings, env, log, bundlePath });
  if (!started.ok) throw new Error(started.detail);
  await eventually(async () => {
    expect(await store.db.selectFrom('endpoints').select('endpoint').execute()).toContainEqual({
      endpoint: 'notify:dba',
    });
  });
  await openPending(ledger, prepared(), active);
  await eventually(() => expect(receiver.received).toHaveLength(1));
  expect(receiver.received[0]!.body).toContain('Approval asked');
  await started.process.stop();
  await store.close();
  await receiver.close();
});

test('a worker process says what is wrong with HOLDPOINT_NOTIFY beside everything else', async () => {
  const env = {
    HOLDPOINT_HEALTH_PORT: 'x',
    HOLDPOINT_NOTIFY: '{ "channels": {}, "routes": [{ "channels": ["dba"] }] }',
  };
  expect(await readWorkerSettings(env, TASK_QUEUE)).toEqual({
    ok: false,
    problems: expect.arrayContaining([
      'HOLDPOINT_NOTIFY: routes.0: there is no channel "dba"',
      'HOLDPOINT_HEALTH_PORT is a port number (0 takes a free one), not "x"',
    ]),
  });
});

test('an empty HOLDPOINT_NOTIFY is none, as a compose file passes it', async () => {
  const env = { HOLDPOINT_NOTIFY: '', HOLDPOINT_LEDGER_URL: 'file:/ledger.db', HOLDPOINT_PERMIT_KEY_FILE: 'key' };
  const read = await readWorkerSettings(env, TASK_QUEUE);
  expect(read).toMatchObject({ ok: true, settings: { notify: undefined } });
});
