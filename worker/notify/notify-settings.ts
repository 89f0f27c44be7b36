import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { parseStrictJson } from '../../core/json';
import { duration, plainName } from '../../core/policy-fields';
import { POLICY_LIMITS } from '../../core/policy-limits';
import { issuesText, strictObject } from '../../core/schema-issues';
import { reasonOf } from '../../ledger/ledger-error';
import { mailAddress, readChannel, type ChannelSettings } from './channel-settings';
import { checkRoutes, idleChannels } from './check-routes';
import { NOTICE_EVENTS, type NoticeEvent, type Route } from './route';
import type { Read } from './secret-text';

/** Who is told what, where. It holds secrets: never log it. */
export interface NotifySettings {
  readonly channels: Readonly<Record<string, ChannelSettings>>;
  readonly routes: readonly Route[];
  /** How long before its deadline a request that still waits is told of again. */
  readonly reminderBeforeMs: number;
  /** The origin of the console; null: notices name the command instead. */
  readonly consoleUrl: string | null;
  /** The mail address of a requester, by subject. */
  readonly requesters: Readonly<Record<string, string>>;
}

export type ReadNotify =
  | { readonly ok: true; readonly notify: NotifySettings }
  /** Every problem, one sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly string[] };

const NAME = 'HOLDPOINT_NOTIFY';
const REMINDER_BEFORE_MS = 5 * 60_000;

/** Without `outcome`, which is for requesters. */
const DEFAULT_EVENTS = NOTICE_EVENTS.filter((event): event is NoticeEvent => event !== 'outcome');

const settings = strictObject({
  channels: z.record(z.string(), z.unknown()),
  routes: z.array(z.unknown()),
  reminderBefore: duration(POLICY_LIMITS.wait).exactOptional(),
  consoleUrl: z.string().refine(isOrigin, 'must be an origin such as https://holdpoint.example').exactOptional(),
  requesters: z.record(z.string().min(1).max(200), mailAddress).default({}),
});

const route = strictObject({
  rules: z.array(plainName).min(1).exactOptional(),
  servers: z.array(plainName).min(1).exactOptional(),
  levels: z.array(z.int().min(0).max(POLICY_LIMITS.escalations)).min(1).exactOptional(),
  events: z.array(z.enum(NOTICE_EVENTS)).min(1).exactOptional(),
  channels: z.array(z.string()).min(1),
  after: duration(POLICY_LIMITS.wait).exactOptional(),
});

/** Reads the settings of notices: JSON, or the path of a JSON or YAML file. All that is wrong is told at once. */
export async function readNotify(given: string, env: NodeJS.ProcessEnv): Promise<ReadNotify> {
  const data = await dataOf(given.trim());
  if ('problem' in data) return { ok: false, problems: [`${NAME} ${data.problem}`] };
  const parsed = settings.safeParse(data.value);
  const problems = parsed.success ? [] : [issuesText(parsed.error, 'it')];
  const parts = partsOf(data.value);
  const channels = await channelsOf(parts.channels, { env, problems });
  const routes = routesOf(parts.routes, problems);
  const names = Object.keys(parts.channels);
  problems.push(...checkRoutes(routes, { channels, names }));
  // A route that cannot be read may be the one.
  if (routes.length === parts.routes.length) problems.push(...idleChannels(routes, names));
  if (!parsed.success || problems.length > 0) {
    return { ok: false, problems: problems.map((problem) => `${NAME}: ${problem}`) };
  }
  const { reminderBefore = REMINDER_BEFORE_MS, consoleUrl, requesters } = parsed.data;
  const origin = consoleUrl === undefined ? null : new URL(consoleUrl).origin;
  return { ok: true, notify: { channels, routes, reminderBeforeMs: reminderBefore, consoleUrl: origin, requesters } };
}

async function dataOf(given: string): Promise<Read<unknown>> {
  if (given.startsWith('{')) {
    const json = parseStrictJson(given);
    return json.ok ? { value: json.value } : { problem: `is no JSON: ${json.detail}` };
  }
  try {
    return yamlOf(await readFile(given, 'utf8'));
  } catch {
    return { problem: 'is a JSON object, or the path of a JSON or YAML file that can be read' };
  }
}

/** YAML 1.2 of which JSON is a part; its messages name places, and quote nothing but keys. */
function yamlOf(text: string): Read<unknown> {
  const document = parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false, logLevel: 'silent' });
  const faults = [...document.errors, ...document.warnings].map(({ message, pos }) => {
    const line = text.slice(0, pos[0]).split('\n').length;
    return `line ${line}: ${message}`;
  });
  if (faults.length > 0) return { problem: `names a file that is not valid YAML: ${faults.join('; ')}` };
  try {
    return { value: document.toJS({ maxAliasCount: 0 }) };
  } catch (error) {
    return { problem: `names a file that may not use aliases: ${reasonOf(error)}` };
  }
}

/** The parts that are checked one by one, as far as they have their form; what has not is a problem already. */
const parts = z.object({
  channels: z.record(z.string(), z.unknown()).catch({}),
  routes: z.array(z.unknown()).catch([]),
});

function partsOf(data: unknown): z.output<typeof parts> {
  const read = parts.safeParse(data);
  return read.success ? read.data : { channels: {}, routes: [] };
}

async function channelsOf(
  given: Readonly<Record<string, unknown>>,
  { env, problems }: { readonly env: NodeJS.ProcessEnv; readonly problems: string[] },
): Promise<Record<string, ChannelSettings>> {
  const channels: [string, ChannelSettings][] = [];
  for (const [name, entry] of Object.entries(given)) {
    const at = `channels.${name}`;
    const named = CHANNEL_NAME.test(name);
    if (!named) problems.push(`channels: ${JSON.stringify(name)} is not 1 to 32 of A-Z a-z 0-9 _ -`);
    const read = await readChannel(entry, { at, env });
    if ('problem' in read) problems.push(read.problem);
    else channels.push([name, read.value]);
  }
  return Object.fromEntries(channels);
}

const CHANNEL_NAME = /^[\w-]{1,32}$/;

function routesOf(given: readonly unknown[], problems: string[]): readonly Route[] {
  return given.flatMap((entry, index) => {
    const parsed = route.safeParse(entry);
    if (!parsed.success) {
      problems.push(`routes.${index}: ${issuesText(parsed.error, 'it')}`);
      return [];
    }
    const { rules = null, servers = null, levels = null, events = DEFAULT_EVENTS, channels, after = 0 } = parsed.data;
    return [{ place: `routes.${index}`, rules, servers, levels, events, channels, afterMs: after }];
  });
}

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') return false;
  return url.pathname === '/' && !/[?#]/.test(text);
}
