import { readFile } from 'node:fs/promises';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { z } from 'zod';
import { parseStrictJson } from '../core/json';
import { reasonOf } from '../ledger/ledger-error';
import type { Trust } from '../ledger/ledger';
import { readNotify, type NotifySettings, type ReadNotify } from './notify/notify-settings';
import { checkEndpoint, type WebhookEndpoint } from './webhook';

/** Everything that a worker process is told by its environment. */
export interface WorkerSettings {
  readonly temporal: {
    readonly address: string;
    readonly namespace: string;
    readonly options: NativeConnectionOptions;
  };
  readonly taskQueue: string;
  readonly ledgerUrl: string;
  readonly permitKeyFile: string;
  /** Null: derived from the permit key. */
  readonly secretsKey: Uint8Array | null;
  readonly payloadKey: string | undefined;
  readonly webhooks: readonly WebhookEndpoint[];
  /** Whom notices go to; left out where nobody is notified. */
  readonly notify?: NotifySettings | undefined;
  readonly health: { readonly port: number; readonly host: string };
  readonly defaultTrust: Trust;
}

export type ReadSettings =
  | { readonly ok: true; readonly settings: WorkerSettings }
  /** Every problem, one sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly string[] };

const DEFAULT_HEALTH_PORT = 9464;
const KEY_BYTES = 32;

const webhookList = z.array(
  z.strictObject({
    id: z.string(),
    url: z.string(),
    secrets: z.array(z.string()),
    types: z.array(z.string()).exactOptional(),
  }),
);

/** Reads the settings of a worker process and reports all that is wrong with them at once. */
export async function readWorkerSettings(env: NodeJS.ProcessEnv, taskQueue: string): Promise<ReadSettings> {
  const problems: string[] = [];
  const say = <T>(read: { readonly problem: string } | { readonly value: T }, instead: T): T => {
    if ('value' in read) return read.value;
    problems.push(read.problem);
    return instead;
  };
  const notify = await notifyOf(env);
  if (!notify.ok) problems.push(...notify.problems);
  const settings: WorkerSettings = {
    temporal: say(temporalOf(env), { address: '', namespace: '', options: {} }),
    taskQueue: env['HOLDPOINT_TASK_QUEUE'] ?? taskQueue,
    ledgerUrl: say(required(env, 'HOLDPOINT_LEDGER_URL', 'file:/absolute/path/ledger.db or postgres://…'), ''),
    permitKeyFile: say(required(env, 'HOLDPOINT_PERMIT_KEY_FILE', 'a file that "holdpoint key new FILE" wrote'), ''),
    secretsKey: say(keyOf(env, 'HOLDPOINT_SECRETS_KEY'), null),
    payloadKey: say(keyOf(env, 'HOLDPOINT_PAYLOAD_KEY'), null) === null ? undefined : env['HOLDPOINT_PAYLOAD_KEY'],
    webhooks: say(await webhooksOf(env['HOLDPOINT_WEBHOOKS'] ?? ''), []),
    notify: notify.ok ? notify.notify : undefined,
    health: { port: say(portOf(env), DEFAULT_HEALTH_PORT), host: env['HOLDPOINT_HEALTH_HOST'] ?? '127.0.0.1' },
    defaultTrust: say(trustOf(env['HOLDPOINT_TRUST']), 'signatures'),
  };
  return problems.length === 0 ? { ok: true, settings } : { ok: false, problems };
}

type Read<T> = { readonly problem: string } | { readonly value: T };

function temporalOf(env: NodeJS.ProcessEnv): Read<WorkerSettings['temporal']> {
  try {
    const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({
      overrideEnvVars: Object.fromEntries(given),
    });
    return {
      value: { address: connectionOptions.address ?? 'localhost:7233', namespace, options: connectionOptions },
    };
  } catch (error) {
    return { problem: `the Temporal profile cannot be read: ${reasonOf(error)}` };
  }
}

function required(env: NodeJS.ProcessEnv, name: string, what: string): Read<string> {
  const value = env[name];
  return value === undefined || value === '' ? { problem: `${name} is not set; it names ${what}` } : { value };
}

function keyOf(env: NodeJS.ProcessEnv, name: string): Read<Uint8Array | null> {
  const text = env[name];
  if (text === undefined || text === '') return { value: null };
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === KEY_BYTES) return { value: bytes };
  return { problem: `${name} holds ${bytes.length} bytes of base64; it holds ${KEY_BYTES}: openssl rand -base64 32` };
}

function portOf(env: NodeJS.ProcessEnv): Read<number> {
  const text = env['HOLDPOINT_HEALTH_PORT'] ?? '';
  const port = text === '' ? DEFAULT_HEALTH_PORT : Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return { value: port };
  return { problem: `HOLDPOINT_HEALTH_PORT is a port number (0 takes a free one), not ${JSON.stringify(text)}` };
}

function trustOf(text = 'signatures'): Read<Trust> {
  if (text === 'signatures' || text === 'namespace') return { value: text };
  return { problem: `HOLDPOINT_TRUST is signatures or namespace, not ${JSON.stringify(text)}` };
}

async function notifyOf(
  env: NodeJS.ProcessEnv,
): Promise<ReadNotify | { readonly ok: true; readonly notify: undefined }> {
  const given = env['HOLDPOINT_NOTIFY']?.trim() ?? '';
  return given === '' ? { ok: true, notify: undefined } : readNotify(given, env);
}

/** JSON, or the path of a file that holds it. */
async function webhooksOf(given: string): Promise<Read<readonly WebhookEndpoint[]>> {
  if (given === '') return { value: [] };
  const name = 'HOLDPOINT_WEBHOOKS';
  const text = given.trimStart().startsWith('[') ? given : await readFile(given, 'utf8').catch(() => undefined);
  if (text === undefined) return { problem: `${name} is a JSON list, or the path of a file that holds one` };
  const json = parseStrictJson(text);
  if (!json.ok) return { problem: `${name}: ${json.detail}` };
  const parsed = webhookList.safeParse(json.value);
  if (!parsed.success) return { problem: `${name}: ${z.prettifyError(parsed.error).replace(/\s+/g, ' ')}` };
  try {
    parsed.data.forEach(checkEndpoint);
    return { value: parsed.data };
  } catch (error) {
    return { problem: `${name}: ${reasonOf(error)}` };
  }
}
