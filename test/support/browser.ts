import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import axe, { type AxeResults } from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** What a browser test may say of its window. */
export type WindowOptions = Pick<BrowserContextOptions, 'viewport' | 'colorScheme' | 'javaScriptEnabled'>;

export interface Window {
  readonly page: Page;
  /** Every address that the page asked for, and nothing that it only names. */
  readonly requested: readonly string[];
  /** Whatever the page's own scripts threw, and what the browser refused, such as a script against the policy. */
  readonly complaints: readonly string[];
}

export const LAPTOP = { width: 1280, height: 800 } as const;
export const PHONE = { width: 390, height: 844 } as const;

/** `CHROMIUM_PATH`, else the first of these names on the path, else the one that `provideChromium` fetched. */
function chromiumPath(env: NodeJS.ProcessEnv = process.env): string | null {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const onPath = names.flatMap((name) => folders.map((at) => join(at, name)));
  const candidates = [env['CHROMIUM_PATH'] ?? '', ...onPath, chromium.executablePath()];
  return candidates.find((path) => path !== '' && isExecutable(path)) ?? null;
}

const NO_CHROMIUM =
  'browser tests need Chromium, and none was found or could be downloaded: install it, or set CHROMIUM_PATH to its program';

/** A running browser for all files of tests, by its address. Downloads a Chromium where the machine has none, or rejects. */
export async function provideChromium(): Promise<{ readonly address: string; close(): Promise<void> }> {
  if (chromiumPath() === null) await download();
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error(NO_CHROMIUM);
  const args = ['--disable-gpu', '--disable-dev-shm-usage'];
  const server = await chromium.launchServer({ executablePath, args });
  return { address: server.wsEndpoint(), close: () => server.close() };
}

async function download(): Promise<void> {
  const cli = join(dirname(require.resolve('playwright-core/package.json')), 'cli.js');
  await promisify(execFile)(process.execPath, [cli, 'install', 'chromium']).catch(() => undefined);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The real browser that all files of tests share, each with windows of its own; close it at the end of a file. */
export function openBrowser(): Promise<Browser> {
  return chromium.connect(process.env['HOLDPOINT_TEST_BROWSER'] ?? '');
}

/** A window of its own, with no cookies of another, which keeps account of what its page does. */
export async function openWindow(browser: Browser, options: WindowOptions = {}): Promise<Window> {
  const context = await browser.newContext({ viewport: LAPTOP, locale: 'en-GB', ...options });
  const page = await context.newPage();
  const requested: string[] = [];
  const complaints: string[] = [];
  context.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, requested, complaints };
}

/** What axe finds wrong with a page, one line each: the rule and where; empty where it finds nothing. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<Pick<AxeResults, 'violations'>>('axe.run()');
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.html}`));
}

/** Whether the page is wider than its window. */
export function overflowsSideways(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Whether anything but the page itself has the focus. */
export function hasFocus(page: Page): Promise<boolean> {
  return page.evaluate('document.activeElement !== document.body');
}
