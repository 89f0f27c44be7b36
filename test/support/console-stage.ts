import type { Browser, Page } from 'playwright-core';
import type { OidcSettings } from '../../console/settings';
import { startConsole } from '../../console/start-console';
import { createMint, newSealKey } from '../../console/sign-in/mint';
import { generateReviewerKey } from '../../client/sign-decision';
import { connect } from '../../client';
import { openBrowser, openWindow, type Window, type WindowOptions } from './browser';
import { startHarness, type Harness, type HarnessOptions } from './harness';
import { recordedLog, type RecordedLog } from './recorded-log';

const HOUR_MS = 3_600_000;
const SIGNER = generateReviewerKey();

/** What a policy says of the stage's console; `l1` operates it. */
const consoleEntryOf = (share?: number) =>
  `console: { key: '${SIGNER.publicKey}', operators: { people: [l1] }${share === undefined ? '' : `, secondReviewShare: ${share}`} }`;

type ApiInit = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

/** A worker, a ledger, a tool server, a console and a browser, all of them real. */
export interface ConsoleStage extends Harness {
  readonly url: string;
  readonly log: RecordedLog;
  readonly consoleEntry: string;
  /** A window in which this person has signed in by a link, at `path`. */
  signedIn(person: string, path?: string, options?: WindowOptions): Promise<Window>;
  /** A fresh link that signs a person in. */
  link(person: string, path?: string): Promise<string>;
  /** The API, in the name of a person. */
  api(person: string, path: string, init?: ApiInit): Promise<Response>;
}

export interface ConsoleStageOptions extends HarnessOptions {
  readonly oidc?: OidcSettings;
  readonly secondReviewShare?: number;
}

export async function startConsoleStage(options: ConsoleStageOptions = {}): Promise<ConsoleStage> {
  const consoleEntry = consoleEntryOf(options.secondReviewShare);
  const policy = { trust: 'signatures', console: consoleEntry, ...options.policy } as const;
  const harness = await startHarness({ ...options, policy });
  const key = Buffer.from(newSealKey(), 'base64url');
  const mint = createMint(key);
  const log = recordedLog();
  const address = options.address ?? process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '';
  const started = await startConsole({
    settings: {
      ...{ host: '127.0.0.1', port: 0, publicUrl: null, hosts: [], origins: [] },
      oidc: options.oidc ?? null,
      ...{ key, signingKey: SIGNER.privateKey, sessionMs: HOUR_MS, metricsToken: null },
    },
    ledger: harness.ledger,
    connect: () => connect({ address, namespace: 'default', taskQueue: harness.taskQueue }),
    log,
  });
  if (!started.ok) throw new Error(started.detail);
  const { url, stop } = started.console;
  const opening: { browser: Promise<Browser> | null } = { browser: null };
  const link: ConsoleStage['link'] = async (person, path = '/') =>
    `${url}/sign-in/link?${new URLSearchParams({ to: path, code: await mint.mintLink(person, HOUR_MS) }).toString()}`;
  return {
    ...harness,
    ...{ url, log, link, consoleEntry },
    signedIn: async (person, path, windowOptions) => {
      opening.browser ??= openBrowser();
      const window = await openWindow(await opening.browser, windowOptions);
      await window.page.goto(await link(person, path));
      await press(window.page, `Sign in as ${person}`);
      return window;
    },
    api: async (person, path, init = {}) => {
      const authorization = `Bearer ${await mint.mintToken(person, HOUR_MS)}`;
      return fetch(`${url}/api/v1${path}`, { ...init, headers: { authorization, ...init.headers } });
    },
    close: async () => {
      await (await opening.browser)?.close();
      await stop();
      await harness.close();
    },
  };
}

/** Presses a button and waits for the page that answers. */
export async function press(page: Page, name: string): Promise<number> {
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().isNavigationRequest() && response.status() !== 303),
    page.getByRole('button', { name, exact: true }).click(),
  ]);
  await page.waitForLoadState();
  return answer.status();
}

/** Ticks the box and allows. */
export async function allow(page: Page): Promise<number> {
  await page.getByRole('checkbox').check();
  return press(page, 'Allow');
}

/** Writes a reason and denies. */
export async function deny(page: Page, reason: string): Promise<number> {
  await page.getByRole('textbox').last().fill(reason);
  return press(page, 'Deny');
}
