import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { axeViolations, openBrowser, openWindow } from '../support/browser';
import { eventually } from '../support/eventually';
import { startOidcProvider, type OidcProvider } from '../support/oidc-provider';
import { serveConsole, type ConsoleServer } from './sign-in-stage';

let browser: Browser;
let provider: OidcProvider;
/** At `localhost`: the provider and the foreign site, at 127.0.0.1, are other sites to a browser. */
let server: ConsoleServer;
let foreign: Server;
let foreignPage = '';
/** Where dana is signed in. */
let page: Page;
beforeAll(async () => {
  [browser, provider] = await Promise.all([openBrowser(), startOidcProvider()]);
  const { issuer, clientSecret } = provider;
  const oidc = { issuer, clientId: 'console', clientSecret, scopes: ['openid', 'email'], claim: 'email' };
  server = await serveConsole({ host: 'localhost', oidc });
  await provider.open(`${server.url}/sign-in/callback`);
  foreign = createServer((_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(foreignPage));
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
  ({ page } = await openWindow(browser));
  await page.goto(`${server.url}/sign-in/link?code=${await server.mint.mintLink('dana', 60_000)}`);
  await page.getByRole('button', { name: 'Sign in as dana' }).click();
  await page.waitForURL(`${server.url}/`);
});
afterAll(async () => {
  await browser.close();
  await server.close();
  foreign.close();
  foreign.closeAllConnections();
  await provider.close();
});
beforeEach(() => void server.recorded.splice(0));

const foreignUrl = (host: string): string => `http://${host}:${(foreign.address() as AddressInfo).port}/`;

/** The right form token, in case that somebody got hold of it. */
async function csrfOf(): Promise<string> {
  await page.goto(server.url);
  return page.inputValue('input[name=csrf]');
}

describe('in a real browser', () => {
  it('a link signs in by its button, and a form of the console is taken', async () => {
    await page.goto(server.url);
    expect(await page.textContent('#who')).toBe('dana');
    await page.click('#allow');
    expect(await page.textContent('body')).toBe('recorded');
    expect(server.recorded).toHaveLength(1);
  });

  it('the provider of another site leads back to the page that was wanted', async () => {
    await page.context().clearCookies();
    await page.goto(`${server.url}/sign-in?to=%2F%3Fpage%3D2`);
    await page.getByRole('link', { name: 'Sign in with 127.0.0.1' }).click();
    await page.getByRole('link', { name: 'dana' }).click();
    await page.waitForURL(`${server.url}/?page=2`);
    expect(await page.textContent('#who')).toBe('dana');
  });

  it('the pages of the sign-in have no fault that axe finds', async () => {
    const code = await server.mint.mintLink('dana', 60_000);
    for (const path of ['/sign-in', `/sign-in/link?code=${code}`, '/sign-in/link?code=abc']) {
      await page.goto(`${server.url}${path}`);
      expect([path, await axeViolations(page)]).toEqual([path, []]);
    }
  });

  it.each(['127.0.0.1', 'localhost'])(
    'a form that a page at %s posts records nothing, with the right token too [WEB-3]',
    async (host) => {
      const csrf = await csrfOf();
      foreignPage = `<form method="post" action="${server.url}/decide">
        <input name="answer" value="allow"><input name="csrf" value="${csrf}"><button>Win</button></form>`;
      await page.goto(foreignUrl(host));
      await page.getByRole('button', { name: 'Win' }).click();
      await page.waitForURL(`${server.url}/decide`);
      expect(await page.textContent('main')).toContain('Nothing was recorded.');
      expect(server.recorded).toEqual([]);
    },
  );

  it.each(['127.0.0.1', 'localhost'])(
    'a script of a page at %s records nothing and reads nothing [WEB-3]',
    async (host) => {
      const csrf = await csrfOf();
      foreignPage = `<title>waiting</title><script>
        const ask = (path, more) => fetch('${server.url}' + path, { credentials: 'include', ...more })
          .then((answer) => answer.text()).catch(() => 'blocked');
        Promise.all([
          ask('/'),
          ask('/decide', { method: 'POST', body: new URLSearchParams({ answer: 'allow', csrf: '${csrf}' }) }),
          ask('/api/v1/decisions', { method: 'POST', body: '{}' }),
          ask('/decide', { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ csrf: '${csrf}' }) }),
        ]).then((texts) => (document.title = texts.join('|')));
      </script>`;
      await page.goto(foreignUrl(host));
      await eventually(async () => expect(await page.title()).toMatch(/^blocked\|blocked\|blocked\|/));
      expect(server.recorded).toEqual([]);
    },
  );

  it.each(['127.0.0.1', 'localhost'])('no page shows inside a frame of a page at %s [WEB-4]', async (host) => {
    const paths = ['/', '/sign-in', '/nothing'];
    foreignPage = paths.map((path) => `<iframe src="${server.url}${path}"></iframe>`).join('');
    await page.goto(foreignUrl(host));
    await eventually(() => {
      const urls = page.frames().map((frame) => frame.url());
      expect(urls.slice(1)).toEqual(paths.map(() => 'chrome-error://chromewebdata/'));
    });
    for (const frame of page.frames().slice(1)) {
      expect(await frame.innerText('#main-message')).toContain('is blocked');
    }
  });
});
