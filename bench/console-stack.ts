import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { connect, generateReviewerKey, type Holdpoint, type Turn } from '../client';
import { createMint, newSealKey } from '../console/sign-in/mint';
import { openStore } from '../ledger/open-store';
import type { Store } from '../ledger/transaction';
import { startChild, type Child } from '../worker/child-process';
import { ASKED_TOOL, REVIEWER, SERVER, WATCHERS } from './policy';
import { startStack } from './stack';

const HOUR_MS = 3_600_000;
const READY_MS = 60_000;

/** A stack with a console process, and a reviewer who is signed in there. */
export interface ConsoleStack {
  readonly url: string;
  readonly console: Child;
  readonly store: Store;
  /** Asks for one protected call, as one of many people. */
  ask(): Promise<Turn>;
  /** A page, as the reviewer's browser asks for it. */
  page(path: string, init?: RequestInit): Promise<Response>;
  /** Opens this many streams of changes, each watcher's share of them; closed where `signal` aborts. */
  watch(count: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export async function startConsoleStack(): Promise<ConsoleStack> {
  const stack = await startStack();
  const { address, ledgerUrl, folder } = stack.places;
  const [keyFile, signingKeyFile] = [join(folder, 'console.key'), join(folder, 'console.pem')];
  const key = newSealKey();
  await writeFile(keyFile, key, { mode: 0o600 });
  await writeFile(signingKeyFile, generateReviewerKey().privateKey, { mode: 0o600 });
  const started = await startChild({
    command: process.execPath,
    args: [join(__dirname, '../cli/main.js'), 'console'],
    env: {
      ...process.env,
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default', HOLDPOINT_LEDGER_URL: ledgerUrl },
      ...{ HOLDPOINT_CONSOLE_PORT: '0', HOLDPOINT_CONSOLE_KEY_FILE: keyFile },
      HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: signingKeyFile,
    },
  });
  if (!started.ok) throw new Error(started.detail);
  const { child } = started;
  const line = await child.waitForLine(/"console\.listening"/, READY_MS);
  const url = /"url":"([^"]+)"/.exec(line ?? '')?.[1];
  if (url === undefined) throw new Error(`the console did not start:\n${child.recentOutput()}`);
  const mint = createMint(Buffer.from(key, 'base64url'));
  const signedIn = async (person: string) => signIn(url, await mint.mintLink(person, HOUR_MS));
  const cookie = await signedIn(REVIEWER);
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
  const holdpoint = await connect({ address, namespace: 'default' });
  return {
    ...{ url, console: child, store },
    ask: () => ask(holdpoint),
    page: (path, init = {}) =>
      fetch(url + path, { redirect: 'manual', ...init, headers: { cookie, origin: url, ...headersOf(init) } }),
    watch: async (count, signal) => {
      const cookies = await Promise.all(WATCHERS.map(signedIn));
      const opening = Array.from({ length: count }, async (_, nr) => {
        const answer = await fetch(`${url}/live`, { signal, headers: { cookie: cookies[nr % cookies.length] ?? '' } });
        if (answer.status !== 200) throw new Error(`a stream was answered with ${answer.status}`);
      });
      await Promise.all(opening);
    },
    close: async () => {
      await holdpoint.close();
      await store.close();
      await child.stop();
      await stack.close();
    },
  };
}

function headersOf({ headers }: RequestInit): Readonly<Record<string, string>> {
  return Object.fromEntries(new Headers(headers).entries());
}

async function signIn(url: string, code: string): Promise<string> {
  const answer = await fetch(`${url}/sign-in/link`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: url },
    body: new URLSearchParams({ code, to: '/' }),
  });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  if (answer.status !== 303 || cookie === '') throw new Error(`signing in was answered with ${answer.status}`);
  return cookie;
}

function ask(holdpoint: Holdpoint): Promise<Turn> {
  const sql = `ALTER TABLE orders ADD COLUMN n_${randomUUID().slice(0, 8)} TEXT`;
  return holdpoint.startTurn({
    id: randomUUID(),
    requester: { subject: `user:${randomUUID()}`, agent: 'bench' },
    calls: [{ id: 'c1', server: SERVER, tool: ASKED_TOOL, arguments: { environment: 'production', sql } }],
  });
}
