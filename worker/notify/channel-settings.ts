import { z } from 'zod';
import { issuesText, strictObject } from '../../core/schema-issues';
import { readAddress, readSecret, secretText, type Read, type SecretText } from './secret-text';

/** A mail server. A password is only sent over TLS, or on this machine. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps`); otherwise STARTTLS where the server offers it. */
  readonly secure: boolean;
  readonly requireTls: boolean;
  readonly login: { readonly user: string; readonly password: string } | null;
}

/** Where notices go, with every reference resolved: it holds secrets, never log it. */
export type ChannelSettings =
  | { readonly kind: 'slack' | 'teams'; readonly url: string }
  | { readonly kind: 'email'; readonly server: MailServer; readonly from: string; readonly to: readonly string[] }
  | { readonly kind: 'pagerduty'; readonly url: string; readonly routingKey: string };

const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

const ADDRESS = /^[^\s@<>(),;:"\\[\]]{1,64}@[A-Za-z0-9.-]{1,190}$/;
const NAMED_ADDRESS = /^[^\p{Cc}<>"@,;]{1,100} <([^<>]+)>$/u;

/** One mailbox, without a name. */
export const mailAddress = z.string().regex(ADDRESS, 'must be one mail address, such as dana@example.com');

const sender = z
  .string()
  .refine(
    (text) => ADDRESS.test(NAMED_ADDRESS.exec(text)?.[1] ?? text),
    'must be a mail address, or a name and the address in < >',
  );

const hook = strictObject({ url: secretText });
const email = strictObject({ smtp: secretText, from: sender, to: z.array(mailAddress).default([]) });
const pagerduty = strictObject({ routingKey: secretText, url: z.string().default(PAGERDUTY_URL) });

const channel = strictObject({
  slack: hook.exactOptional(),
  teams: hook.exactOptional(),
  email: email.exactOptional(),
  pagerduty: pagerduty.exactOptional(),
}).refine((kinds) => Object.keys(kinds).length === 1, 'must hold one of slack, teams, email and pagerduty');

/** Reads one entry of `channels`; `at` is its place in the settings. */
export async function readChannel(
  given: unknown,
  { at, env }: { readonly at: string; readonly env: NodeJS.ProcessEnv },
): Promise<Read<ChannelSettings>> {
  const parsed = channel.safeParse(given);
  if (!parsed.success) return { problem: `${at}: ${issuesText(parsed.error, 'it')}` };
  const [kind = ''] = Object.keys(parsed.data);
  const read = await readKind(parsed.data, env);
  return 'value' in read ? read : { problem: `${at}.${kind}.${read.problem}` };
}

async function readKind(kinds: z.output<typeof channel>, env: NodeJS.ProcessEnv): Promise<Read<ChannelSettings>> {
  const { slack, teams, email: mail, pagerduty: pager } = kinds;
  if (mail !== undefined) return readMail(mail, env);
  if (pager !== undefined) return readPager(pager, env);
  const url = await readHook((slack ?? teams)?.url ?? '', env);
  return 'value' in url ? { value: { kind: slack === undefined ? 'teams' : 'slack', url: url.value } } : url;
}

/** Whoever knows the address of a hook may write there, so it is a secret, and goes over TLS. */
async function readHook(given: SecretText, env: NodeJS.ProcessEnv): Promise<Read<string>> {
  const read = await readSecret(given, env);
  if ('problem' in read) return { problem: `url ${read.problem}` };
  return isSafeUrl(read.value) ? read : { problem: `url ${NOT_SAFE}` };
}

const NOT_SAFE = 'is an https address without user and password (http only on a loopback address)';

async function readPager(given: z.output<typeof pagerduty>, env: NodeJS.ProcessEnv): Promise<Read<ChannelSettings>> {
  const key = await readSecret(given.routingKey, env);
  if ('problem' in key) return { problem: `routingKey ${key.problem}` };
  if (!/^[\x21-\x7e]{1,64}$/.test(key.value)) return { problem: 'routingKey is no integration key of PagerDuty' };
  if (!isSafeUrl(given.url)) return { problem: `url ${NOT_SAFE}` };
  return { value: { kind: 'pagerduty', url: given.url, routingKey: key.value } };
}

async function readMail(given: z.output<typeof email>, env: NodeJS.ProcessEnv): Promise<Read<ChannelSettings>> {
  const read = await readAddress(given.smtp, env);
  if ('problem' in read) return { problem: `smtp ${read.problem}` };
  const server = mailServer(read.value);
  if (server === null) return { problem: 'smtp is smtps://user:${PASSWORD}@host:port or smtp://…, and nothing more' };
  return { value: { kind: 'email', server, from: given.from, to: given.to } };
}

function mailServer(text: string): MailServer | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '') return null;
  if (!['', '/'].includes(url.pathname) || url.search + url.hash !== '') return null;
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === null || password === null) return null;
  const secure = url.protocol === 'smtps:';
  const login = user === '' ? null : { user, password };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    ...{ secure, login },
    requireTls: !secure && login !== null && !isLoopback(url.hostname),
  };
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username + url.password + url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
