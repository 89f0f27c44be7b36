import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, SignJWT } from 'jose';
import { ownPath } from '../../console/sign-in/own-path';
import { newToken } from '../../gateway/edge/new-token';
import { send, serveConsole, signedIn, TestBrowser, type ConsoleServer } from './sign-in-stage';

let server: ConsoleServer;
beforeEach(async () => {
  server = await serveConsole();
});
afterEach(() => server.close());

const link = async (person = 'dana'): Promise<{ readonly code: string; readonly url: string }> => {
  const code = await server.mint.mintLink(person, 60_000);
  return { code, url: `${server.url}/sign-in/link?code=${code}` };
};
const whoIs = async (browser: TestBrowser): Promise<string | undefined> =>
  /<p id="who">(.*)<\/p>/.exec((await browser.visit(server.url)).text)?.[1];

describe('a sign-in link', () => {
  it('that is fetched by GET and HEAD signs nobody in and stays good for its POST [WEB-1]', async () => {
    const { code, url } = await link();
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status, headers, text } = await send(url, { method });
      expect([method, status, headers['set-cookie']]).toEqual([method, 200, undefined]);
      if (method === 'GET') expect(text).toContain('Sign in as dana?');
    }
    const browser = new TestBrowser();
    const { status, headers } = await browser.post(`${server.url}/sign-in/link`, { code });
    expect([status, headers.location]).toEqual([303, '/']);
    expect(await whoIs(browser)).toBe('dana');
  });

  it('counts once, also where two open it at the same moment', async () => {
    const { code, url } = await link();
    const browsers = [new TestBrowser(), new TestBrowser(), new TestBrowser()];
    const answers = await Promise.all(browsers.map((browser) => browser.post(`${server.url}/sign-in/link`, { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
    const again = await send(url);
    expect(again.status).toBe(403);
    expect(again.text).toContain(
      'This sign-in link does not count: it was used, it has expired, it was made before the console started, or it is not whole.',
    );
  });

  it('that does not count leads back to the sign-in, and from there to where it would have led', async () => {
    for (const to of ['/requests/7KQ2M4XB', '//evil.example']) {
      const query = new URLSearchParams({ code: 'abc', to }).toString();
      const own = to.startsWith('//') ? '%2F' : '%2Frequests%2F7KQ2M4XB';
      const link = `<a href="/sign-in?to=${own}">Back to the sign-in</a>`;
      expect((await send(`${server.url}/sign-in/link?${query}`)).text).toContain(link);
      const posted = await new TestBrowser().post(`${server.url}/sign-in/link`, { code: 'abc', to });
      expect(posted.text).toContain(link);
    }
  });

  it('that has expired, or is a session or an API token, is the same as a wrong one', async () => {
    const expired = (await link()).code;
    server.clock.aheadMs = 60_000;
    const token = await server.mint.mintToken('dana', 60_000);
    const [session = ''] = [...(await signedIn(server)).cookies.values()];
    const answers = [];
    for (const code of [expired, token, session, 'abc', '']) {
      answers.push(await new TestBrowser().post(`${server.url}/sign-in/link`, { code }));
    }
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('for somebody whom the active policy lists no longer signs nobody in, and says so', async () => {
    const { code } = await link('eli');
    server.people.delete('eli');
    const { status, headers, text } = await new TestBrowser().post(`${server.url}/sign-in/link`, { code });
    expect([status, headers['set-cookie']]).toEqual([403, undefined]);
    expect(text).toContain('The active policy lists no person <code>eli</code>');
    server.people.set('eli', 'dana');
    expect((await new TestBrowser().post(`${server.url}/sign-in/link`, { code })).status).toBe(403);
  });

  it('leads on to a page of this console alone', async () => {
    const answers = [];
    for (const to of ['/requests/op_1?revision=2#card', '//evil.example', 'https://evil.example/']) {
      answers.push(await new TestBrowser().post(`${server.url}/sign-in/link`, { code: (await link()).code, to }));
    }
    expect(answers.map(({ headers }) => headers.location)).toEqual(['/requests/op_1?revision=2#card', '/', '/']);
    const { text } = await send(`${server.url}/sign-in/link?code=${(await link()).code}&to=//evil.example`);
    expect(text).toContain('name="to" value="/"');
  });

  it('sends a limited number of times from one address', async () => {
    const statuses = new Set<number>();
    for (let sent = 0; sent < 121; sent += 1) {
      statuses.add((await new TestBrowser().post(`${server.url}/sign-in/link`, { code: 'abc' })).status);
    }
    expect([...statuses]).toEqual([403, 429]);
  });
});

describe('a session', () => {
  it('is in a cookie that no script reads and that no foreign form brings along', async () => {
    const browser = new TestBrowser();
    const { headers } = await browser.post(`${server.url}/sign-in/link`, { code: (await link()).code });
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^holdpoint_session=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
  });

  it('of a console that is reached by https is bound to its host and sent by https alone', async () => {
    const secure = await serveConsole({ publicUrl: 'https://console.example' });
    const answer = await new TestBrowser().post(
      `${secure.url}/sign-in/link`,
      { code: await secure.mint.mintLink('dana', 60_000) },
      { host: 'console.example', origin: 'https://console.example' },
    );
    await secure.close();
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-holdpoint_session=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
  });

  it('ends at its end', async () => {
    const browser = await signedIn(server);
    server.clock.aheadMs = 43_199_000;
    expect(await whoIs(browser)).toBe('dana');
    server.clock.aheadMs = 43_200_000;
    expect((await browser.visit(server.url)).headers.location).toBe('/sign-in?to=%2F');
  });

  it('ends with the sign-out, for a copy of its cookie too', async () => {
    const browser = await signedIn(server);
    const copy = new TestBrowser();
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    const page = await browser.visit(`${server.url}/sign-in`);
    expect(page.text).toContain('You are signed in as <strong>dana</strong>');
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    expect((await browser.post(`${server.url}/sign-out`, { csrf })).headers.location).toBe('/sign-in');
    expect([...browser.cookies]).toEqual([]);
    expect([await whoIs(browser), await whoIs(copy)]).toEqual([undefined, undefined]);
  });

  it('is not what a cookie of any other form or purpose claims [WEB-6]', async () => {
    const others = [await server.mint.mintToken('dana', 60_000), (await link()).code, 'abc', '', '%', '"', 'a=b'];
    for (const value of others) {
      const { status } = await send(server.url, { headers: { cookie: `holdpoint_session=${value}` } });
      expect([value, status]).toEqual([value, 302]);
    }
  });
});

describe('the page that a sign-in leads on to', () => {
  it.each([
    ['/', '/'],
    ['/operations?state=open#x', '/operations?state=open#x'],
    ['/requests/é', '/requests/%C3%A9'],
    ['/a/../b', '/b'],
    ['', '/'],
    ['requests', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/.//evil.example', '/'],
    ['/a/..//evil.example', '/'],
    ['/./\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    [`/${'a'.repeat(1_000)}`, '/'],
  ])('of %j is %s', (to, path) => {
    expect(ownPath(to)).toBe(path);
  });
});

describe('a token of the API', () => {
  const ask = (authorization: string): ReturnType<typeof send> =>
    send(`${server.url}/api/v1/decisions`, { method: 'POST', headers: { authorization }, body: '{}' });

  it('names its person, until it ends', async () => {
    const token = await server.mint.mintToken('dana', 60_000);
    expect(JSON.parse((await ask(`Bearer ${token}`)).text)).toEqual({ person: 'dana' });
    server.clock.aheadMs = 60_000;
    expect((await ask(`Bearer ${token}`)).status).toBe(401);
  });

  it('of 3 characters gets the same answer as any wrong one [WEB-6]', async () => {
    const token = await server.mint.mintToken('dana', 60_000);
    const [session = ''] = [...(await signedIn(server)).cookies.values()];
    const wrong = ['Bearer abc', 'Bearer ', 'Bearer', '', `Bearer ${token}x`, `Bearer ${token.slice(0, -1)}`];
    const answers = [];
    for (const header of [...wrong, `Bearer ${'A'.repeat(43)}`, `Bearer ${session}`, `Basic ${token}`, token]) {
      answers.push(await ask(header));
    }
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(server.recorded).toEqual([]);
  });

  it("is not an agent's token for the gateway, whoever owns the agent [FORGE-8]", async () => {
    server.people.set('user:dana', 'dana');
    const folder = mkdtempSync(join(tmpdir(), 'holdpoint-agent-'));
    const made = newToken(join(folder, 'tokens.json'), { subject: 'user:dana', agent: 'support-bot' });
    rmSync(folder, { recursive: true });
    const claims = { iss: 'https://login.example', sub: 'dana', client_id: 'support-bot', groups: ['dba'] };
    const { privateKey } = await generateKeyPair('ES256');
    const access = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' }).sign(privateKey);
    const agents = [made.ok ? made.token : '', access];
    expect(agents[0]).toMatch(/^hp_/);
    for (const token of agents) {
      const { status, text } = await ask(`Bearer ${token}`);
      expect([status, JSON.parse(text)]).toEqual([401, { code: 'UNAUTHENTICATED' }]);
    }
    expect(server.recorded).toEqual([]);
  });
});
