import { connect } from 'node:net';
import { formToken, send, serveConsole, signedIn, type ConsoleServer, type TestBrowser } from './sign-in-stage';

let server: ConsoleServer;
beforeEach(async () => {
  server = await serveConsole();
});
afterEach(() => server.close());

const refusals = (): unknown[] =>
  server.log.entries.filter(({ event }) => event === 'console.refused').map(({ fields }) => fields);

describe('the name by which the console is asked', () => {
  it('is one of its own, also without a login and on loopback [WEB-5]', async () => {
    const browser = await signedIn(server);
    for (const path of ['/', '/sign-in', '/assets/console.css', '/api/v1/decisions', '/nothing']) {
      const answer = await browser.visit(`${server.url}${path}`, { headers: { host: 'evil.example' } });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.text).toContain('none of the names of this console');
      expect(answer.text).not.toContain('dana');
    }
    expect(refusals()[0]).toEqual({ status: 403, code: 'FOREIGN_HOST', found: 'evil.example' });
  });

  it('opens no door by being right: the page behind it still asks for a sign-in [WEB-5]', async () => {
    for (const name of ['127.0.0.1', 'localhost']) {
      const { status, headers } = await send(server.url, { headers: { host: `${name}:${server.port}` } });
      expect([status, headers.location]).toEqual([302, '/sign-in?to=%2F']);
    }
  });

  it('stands there once, and beside it a path', async () => {
    const raw = (target: string, ...hosts: readonly string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        let text = '';
        const socket = connect(server.port, '127.0.0.1').on('data', (chunk) => (text += chunk.toString()));
        socket.on('error', reject).on('close', () => resolve(text));
        socket.write(
          [`GET ${target} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`), 'Connection: close', '', ''].join('\r\n'),
        );
      });
    const own = `127.0.0.1:${server.port}`;
    expect(await raw('/', own)).toMatch(/^HTTP\/1.1 302/);
    expect(await raw('/', 'evil.example', own)).toMatch(/^HTTP\/1.1 403/);
    expect(await raw('/', own, 'evil.example')).toMatch(/^HTTP\/1.1 403/);
    expect(await raw(`http://${own}/`, own)).toMatch(/^HTTP\/1.1 403/);
    expect(await raw('/', '')).toMatch(/^HTTP\/1.1 40[03]/);
  });
});

describe('every answer', () => {
  const PATHS = ['/', '/sign-in', '/sign-in/link', '/assets/console.css', '/raw', '/stream', '/fails', '/nothing'];

  it.each([...PATHS, '/api/v1/decisions', '/api/nothing'])(
    'to %s forbids frames and foreign content [WEB-4]',
    async (path) => {
      for (const headers of [{}, { host: 'evil.example' }] as readonly Record<string, string>[]) {
        const answer = await send(`${server.url}${path}`, { headers });
        expect(answer.headers).toMatchObject({
          'content-security-policy':
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'same-origin',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
          'cache-control': path.startsWith('/assets/') && headers['host'] === undefined ? 'max-age=60' : 'no-store',
        });
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
        expect(answer.headers['strict-transport-security']).toBeUndefined();
      }
    },
  );

  it('keeps its own body and status', async () => {
    const texts = await Promise.all(['/raw', '/stream', '/fails'].map((path) => send(`${server.url}${path}`)));
    expect(texts.map(({ status, text }) => [status, text])).toEqual([
      [200, 'raw'],
      [200, 'ab'],
      [500, 'failed: on purpose'],
    ]);
  });

  it('of a console that is reached by https asks for https from now on', async () => {
    const secure = await serveConsole({ publicUrl: 'https://console.example' });
    const { headers } = await send(`${secure.url}/sign-in`, { headers: { host: 'console.example' } });
    await secure.close();
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });
});

describe('a form', () => {
  let browser: TestBrowser;
  let csrf: string;
  beforeEach(async () => {
    browser = await signedIn(server);
    csrf = await formToken(server, browser);
  });
  const decide = (
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): ReturnType<TestBrowser['post']> => browser.post(`${server.url}/decide`, { answer: 'allow', ...form }, headers);

  it('of a page of this session is taken', async () => {
    expect((await decide({ csrf })).text).toBe('recorded');
    expect(server.recorded).toEqual(['allow']);
  });

  it("that a foreign site posts with the reviewer's cookie and even the right token records nothing [WEB-3]", async () => {
    const foreign = ['https://evil.example', 'null', 'http://localhost:1', `https://127.0.0.1:${server.port}`, ''];
    for (const origin of [
      ...foreign,
      `http://127.0.0.1:${server.port}.evil.example`,
      `http://localhost:${server.port}`,
    ]) {
      const { status, text } = await decide({ csrf }, { origin });
      expect([origin, status]).toEqual([origin, 403]);
      expect(text).toContain('Nothing was recorded.');
    }
    expect(server.recorded).toEqual([]);
  });

  it('that does not say which page sent it records nothing, unless the browser says that it was the same origin [WEB-3]', async () => {
    const bare = (headers: Record<string, string>): ReturnType<TestBrowser['visit']> =>
      browser.visit(`${server.url}/decide`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: `answer=allow&csrf=${csrf}`,
      });
    for (const site of [
      {},
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ]) {
      expect((await bare(site)).status).toBe(403);
    }
    expect(server.recorded).toEqual([]);
    expect((await bare({ 'sec-fetch-site': 'same-origin' })).text).toBe('recorded');
  });

  it('under another name of the console is taken from that name, and from no other', async () => {
    const host = `localhost:${server.port}`;
    const [cookie = ''] = [...browser.cookies.values()].map((value) => `holdpoint_session=${value}`);
    expect((await decide({ csrf }, { host, cookie, origin: `http://${host}` })).status).toBe(200);
    expect((await decide({ csrf }, { host, cookie, origin: server.url })).status).toBe(403);
    expect((await decide({ csrf }, { host, cookie, origin: 'http://localhost:1' })).status).toBe(403);
  });

  it('without the token of this session records nothing, and says so [WEB-3]', async () => {
    const other = await formToken(server, await signedIn(server));
    for (const form of [{}, { csrf: '' }, { csrf: 'abc' }, { csrf: other }, { csrf: `${csrf}A` }]) {
      const { status, text } = await decide(form);
      expect([form, status]).toEqual([form, 403]);
      expect(text).toContain('This form does not belong to your present sign-in.');
      expect(text).toContain('Nothing was recorded.');
    }
    expect(server.recorded).toEqual([]);
    expect(refusals()).toContainEqual({ status: 403, code: 'FORM_TOKEN_WRONG' });
  });

  it('that is refused leaves the viewer signed in, and shows it, with the way back to its page', async () => {
    const sent = [
      await browser.post(`${server.url}/requests/7KQ2M4XB/decision`, { csrf }, { origin: 'https://evil.example' }),
      await browser.post(`${server.url}/requests/7KQ2M4XB/decision`, { csrf: 'abc' }),
      await browser.post(`${server.url}/requests/7KQ2M4XB/decision`, { csrf, reason: 'a'.repeat(65_536) }),
    ];
    for (const { text } of sent) {
      expect(text).toContain('Signed in as <strong>dana</strong>');
      expect(text).toContain(`name="csrf" value="${csrf}"`);
      expect(text).toContain('<a href="/requests/7KQ2M4XB">Open its page</a>');
      expect(text).not.toContain('/sign-in');
    }
    server.people.delete('dana');
    expect((await decide({ csrf: 'abc' })).text).toContain('<a href="/sign-in?to=%2F">Sign in</a>');
  });

  it('without a session, or after its end, records nothing, and says so', async () => {
    const noCookie = await decide({ csrf }, { cookie: '' });
    server.clock.aheadMs = 43_200_000;
    for (const { status, text } of [noCookie, await decide({ csrf })]) {
      expect(status).toBe(403);
      expect(text).toContain('You are not signed in, or not any more.');
      expect(text).toContain('Nothing was recorded.');
    }
    expect(server.recorded).toEqual([]);
  });

  it('by any method but GET and HEAD is one, and a body that is no form has no token', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status } = await browser.visit(`${server.url}/decide`, { method, headers: { origin: server.url } });
      expect([method, status]).toEqual([method, 403]);
    }
    for (const type of ['application/json', 'multipart/form-data; boundary=x', 'multipart/form-data', 'text/plain']) {
      const { status } = await decide({ csrf }, { 'content-type': type });
      expect([type, status]).toEqual([type, 403]);
    }
    expect(server.recorded).toEqual([]);
  });

  it('of more than 64 KiB is not read, whether or not it says its length', async () => {
    const size = 65_536 - `answer=&csrf=${csrf}`.length;
    expect((await decide({ answer: 'a'.repeat(size), csrf })).status).toBe(200);
    const { status, text } = await decide({ answer: 'a'.repeat(size + 1), csrf });
    expect(status).toBe(413);
    expect(text).toContain('Nothing was recorded.');
    const chunked = { 'transfer-encoding': 'chunked' };
    expect((await decide({ answer: 'a'.repeat(size), csrf }, chunked)).status).toBe(200);
    expect((await decide({ answer: 'a'.repeat(size + 1), csrf }, chunked)).status).toBe(413);
    expect((await decide({ answer: 'a'.repeat(5_000_000), csrf })).status).toBe(413);
    expect(server.recorded).toHaveLength(2);
  });
});

describe('a form without a session', () => {
  it.each([
    ['/requests/7KQ2M4XB/decision', '%2Frequests%2F7KQ2M4XB'],
    ['/operations/op_1/settlement', '%2Foperations%2Fop_1'],
    ['/retrospectives/gr_1.1/review', '%2Fretrospectives'],
    ['/second-reviews/op_1', '%2Fsecond-reviews'],
    ['/grants/gr_1.1/revocation', '%2Fgrants'],
    ['/retrospectivesx', '%2F'],
  ])('to %s leads to the sign-in and back to its page', async (path, to) => {
    const headers = { origin: server.url, 'content-type': 'application/x-www-form-urlencoded' };
    const { text } = await send(`${server.url}${path}`, { method: 'POST', headers, body: 'a=b' });
    expect(text).toContain(`<a href="/sign-in?to=${to}">Sign in</a>`);
  });
});

describe('what was typed in a form that the guard refuses', () => {
  const type = (headers: Record<string, string>) => {
    const body = 'csrf=x&answer=deny&reason=not+%3Cb%3Ebefore%3C%2Fb%3E%0D%0Athe+backup&ticket=INC-7';
    const sent = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
    return send(`${server.url}/requests/7KQ2M4XB/decision`, { method: 'POST', headers: sent, body });
  };

  it('comes back as text, where a page of this console sent it', async () => {
    const { status, text } = await type({ origin: server.url });
    expect(status).toBe(403);
    expect(text).toContain('What you wrote: <bdi class="given" dir="ltr">INC-7</bdi>');
    expect(text).toContain('not &lt;b&gt;before&lt;/b&gt;\nthe backup</pre>');
  });

  it('does not come back, where a foreign page sent it', async () => {
    const { status, text } = await type({ origin: 'https://evil.example' });
    expect(status).toBe(403);
    expect(text).not.toContain('What you wrote');
    const { text: none } = await type({});
    expect(none).not.toContain('What you wrote');
  });
});

describe('the API', () => {
  it("knows no cookie: a signed-in browser's request is as good as anybody's [WEB-3]", async () => {
    const browser = await signedIn(server);
    const { status } = await browser.post(`${server.url}/api/v1/decisions`, { answer: 'allow' });
    expect(status).toBe(401);
    expect(server.recorded).toEqual([]);
  });

  it('takes a token without a form token and without an origin, and refuses a foreign page', async () => {
    const token = await server.mint.mintToken('dana', 60_000);
    const post = (headers: Record<string, string>): ReturnType<typeof send> =>
      send(`${server.url}/api/v1/decisions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, ...headers },
        body: '{}',
      });
    expect((await post({})).status).toBe(200);
    const refused = await post({ origin: 'https://evil.example' });
    expect([refused.status, refused.headers['content-type']]).toEqual([403, 'application/problem+json']);
    expect(JSON.parse(refused.text)).toMatchObject({ status: 403, code: 'FOREIGN_ORIGIN' });
    expect(server.recorded).toEqual(['{}']);
  });

  it('is not what a path looks like to be after it was decoded twice', async () => {
    const browser = await signedIn(server);
    for (const path of [
      '/%61pi/v1/decisions',
      '/%2561pi/v1/decisions',
      '//api/v1/decisions',
      '/x/..%2fapi/v1/decisions',
    ]) {
      const { status } = await browser.visit(`${server.url}${path}`, { method: 'POST', body: 'x' });
      expect([path, [401, 403].includes(status)]).toEqual([path, true]);
    }
    expect(server.recorded).toEqual([]);
  });
});
