import { startOidcProvider, type OidcProvider } from '../support/oidc-provider';
import { serveConsole, signedIn, TestBrowser, type Answer, type ConsoleServer } from './sign-in-stage';

let provider: OidcProvider;
let server: ConsoleServer;
beforeAll(async () => {
  provider = await startOidcProvider();
  const { issuer, clientSecret } = provider;
  const oidc = { issuer, clientId: 'console', clientSecret, scopes: ['openid', 'email'], claim: 'email' };
  server = await serveConsole({ oidc });
});
afterAll(async () => {
  await server.close();
  await provider.close();
});

type Turn = (url: string) => string;

/** What a person does at the provider: sign in as `account`; where that is empty, refuse. */
const as =
  (account: string, more: Turn = (url) => url): Turn =>
  (url) =>
    more(url.includes('/interaction/') ? `${url}?account=${account}` : url);
const swapped =
  (from: RegExp, to: string): Turn =>
  (url) =>
    url.replace(from, to);
const begin = (browser: TestBrowser, turn: Turn, to = '/'): Promise<Answer> =>
  browser.follow(`${server.url}/sign-in/oidc?to=${encodeURIComponent(to)}`, turn);

describe('the sign-in at an OpenID provider', () => {
  it('that does not answer yet is 503, and works once it does', async () => {
    const away = await begin(new TestBrowser(), as('dana'));
    expect(away.status).toBe(503);
    expect(away.text).toContain('The sign-in provider does not answer.');
    await provider.open(`${server.url}/sign-in/callback`);
    expect((await begin(new TestBrowser(), as('dana'))).status).toBe(200);
  });

  it('signs in the person whose subject the claim names, and leads on to the page that was wanted', async () => {
    const browser = new TestBrowser();
    const seen: string[] = [];
    const { url, text } = await begin(
      browser,
      as('dana', (to) => (seen.push(to), to)),
      '/?page=2',
    );
    expect(url).toBe(`${server.url}/?page=2`);
    expect(text).toContain('<p id="who">dana</p>');
    expect(seen[0]).toMatch(/response_type=code/);
    expect(seen[0]).toMatch(/code_challenge_method=S256/);
    expect([...browser.cookies.keys()].filter((key) => key.startsWith(`${server.url} `))).toEqual([
      `${server.url} holdpoint_session`,
    ]);
  });
});

it('begins under the public name, to which the provider leads back', async () => {
  const { status, headers } = await new TestBrowser().visit(`${server.url}/sign-in/oidc?to=%2Fgrants`, {
    headers: { host: `localhost:${server.port}` },
  });
  expect([status, headers.location, headers['set-cookie']]).toEqual([
    302,
    `${server.url}/sign-in/oidc?to=%2Fgrants`,
    undefined,
  ]);
});

describe('nobody is signed in', () => {
  const refused = async (turn: Turn): Promise<void> => {
    const browser = new TestBrowser();
    const { status, text } = await begin(browser, turn);
    expect(status).toBe(403);
    expect(text).toContain('Nobody was signed in.');
    expect((await browser.visit(server.url)).status).toBe(302);
  };
  const reason = (): string => String((server.log.entries.at(-1)?.fields as { readonly reason?: string }).reason);

  it('where the state is not that of this browser', async () => {
    await refused(as('dana', swapped(/(callback.*[?&]state=)[^&]+/, '$1other')));
    expect(reason()).toMatch(/state/);
  });

  it('where the nonce is not that of this browser', async () => {
    await refused(as('dana', swapped(/([?&]nonce=)[^&]+/, '$1other')));
    expect(reason()).toMatch(/JWT claim/);
  });

  it('where the code was asked for with another verifier', async () => {
    await refused(as('dana', swapped(/(code_challenge=)[^&]+/, `$1${'A'.repeat(43)}`)));
    expect(reason()).toMatch(/invalid_grant/);
  });

  it('where the provider says that it refused', async () => {
    await refused(as(''));
    expect(reason()).toMatch(/access_denied/);
  });

  it('where the provider did not verify the address, or names none', async () => {
    await refused(as('mallory'));
    expect(reason()).toBe('the e-mail address is not verified');
    await refused(as('nameless'));
    expect(reason()).toBe('the claim email is no text');
  });

  it('in the browser that opens the answer to another one', async () => {
    const [dana, victim] = [new TestBrowser(), new TestBrowser()];
    let answer = '';
    // The browser stops right before it would bring the answer back.
    const turn: Turn = as('dana', (url) => (url.includes('/callback') ? ((answer = url), `${server.url}/raw`) : url));
    await begin(dana, turn);
    expect(answer).toContain('code=');
    expect((await victim.visit(answer)).status).toBe(403);
    expect([...victim.cookies]).toEqual([]);
    const head = await dana.visit(answer, { method: 'HEAD' });
    expect([head.status, head.headers.allow]).toEqual([405, 'GET']);
    expect((await dana.visit(answer)).status).toBe(303);
    expect((await dana.visit(answer)).status).toBe(403);
  });

  it('more than ten minutes after the sign-in was begun', async () => {
    let late = 0;
    const turn: Turn = as('dana', (url) => {
      if (url.includes('/callback')) server.clock.aheadMs = late = 600_000;
      return url;
    });
    await refused(turn);
    expect(late).toBe(600_000);
    server.clock.aheadMs = 0;
  });

  it('whom the active policy does not list: the page names the claim as text', async () => {
    const { status, text } = await begin(new TestBrowser(), as('stranger'));
    expect(status).toBe(403);
    expect(text).toContain('&lt;b&gt;stranger&lt;/b&gt;⟦U+202E⟧@example.com');
    expect(text).toContain('The active policy lists no person');
  });
});

describe('where a new sign-in is asked for', () => {
  const HOUR_S = 3_600;
  const again = (browser: TestBrowser, turn: Turn, acr = ''): Promise<Answer> => {
    const query = new URLSearchParams({ to: '/?page=2', fresh: '1', ...(acr !== '' && { acr }) });
    return browser.follow(`${server.url}/sign-in/oidc?${query.toString()}`, turn);
  };
  const attested = async (browser: TestBrowser) => {
    const value = browser.cookies.get(`${server.url} holdpoint_session`) ?? '';
    return (await server.signIn.identifySession(`holdpoint_session=${value}`))?.signIn;
  };
  const reason = (): string => String((server.log.entries.at(-1)?.fields as { readonly reason?: string }).reason);
  const refused = async (browser: TestBrowser, answer: Promise<Answer>, why: string): Promise<void> => {
    const before = await attested(browser);
    const { status, text } = await answer;
    expect([status, reason()]).toEqual([403, why]);
    expect(text).toContain('The provider was asked for a new sign-in');
    expect(text).toContain('Nobody was signed in.');
    expect(await attested(browser)).toEqual(before);
  };
  /** As a provider does that knows nothing of either. */
  const ignoring = swapped(/&prompt=login&max_age=0/, '&max_age=86400');

  it('the page of the sign-in says so, and passes on what is asked', async () => {
    const { text } = await new TestBrowser().visit(`${server.url}/sign-in?to=%2Fgrants&fresh=1&acr=phr+pwd+%22`);
    expect(text).toContain('<h1>Sign in again</h1>');
    expect(text).toContain('href="/sign-in/oidc?to=%2Fgrants&amp;fresh=1&amp;acr=phr+pwd"');
  });

  it('the provider is asked to sign in anew, and what its ID token says is attested', async () => {
    const browser = new TestBrowser();
    await begin(browser, as('dana'));
    expect(await attested(browser)).toBeUndefined();
    const seen: string[] = [];
    const turn = swapped(/account=dana/, 'account=dana&acr=phr');
    const beforeS = Math.floor(Date.now() / 1_000);
    const { status, url } = await again(
      browser,
      as('dana', (to) => (seen.push(to), turn(to))),
      'phr pwd',
    );
    expect([status, url]).toEqual([200, `${server.url}/?page=2`]);
    expect(seen[0]).toContain('&prompt=login&max_age=0&acr_values=phr+pwd');
    const signIn = await attested(browser);
    expect(signIn?.acr).toBe('phr');
    expect(signIn?.atMs).toBeGreaterThanOrEqual(beforeS * 1_000);
    expect(signIn?.atMs).toBeLessThanOrEqual(Date.now());
  });

  it('an old sign-in is none: of a provider that ignores what it was asked for, and of one that says so itself', async () => {
    const browser = new TestBrowser();
    const hourAgo = Math.floor(Date.now() / 1_000) - HOUR_S;
    await begin(browser, as('dana', swapped(/account=dana/, `account=dana&ts=${hourAgo}`)));
    await refused(browser, again(browser, as('dana', ignoring)), 'the auth_time is that of an earlier sign-in');
    const stale = as('dana', swapped(/account=dana/, `account=dana&ts=${hourAgo}`));
    await refused(browser, again(browser, stale), 'the auth_time is that of an earlier sign-in');
  });

  it('nor is one of which the provider does not say when it was, or that is to come', async () => {
    const silent = as('dana', swapped(/&prompt=login&max_age=0/, ''));
    await refused(new TestBrowser(), again(new TestBrowser(), silent), 'the ID token has no auth_time');
    const inAnHour = Math.floor(Date.now() / 1_000) + HOUR_S;
    const ahead = as('dana', swapped(/account=dana/, `account=dana&ts=${inAnHour}`));
    await refused(new TestBrowser(), again(new TestBrowser(), ahead), 'the auth_time is in the future');
  });

  it('nor is one of another class than was asked for, or of none', async () => {
    const why = 'the acr is none of those that were asked for';
    const weak = as('dana', swapped(/account=dana/, 'account=dana&acr=pwd'));
    await refused(new TestBrowser(), again(new TestBrowser(), weak, 'phr'), why);
    await refused(new TestBrowser(), again(new TestBrowser(), as('dana'), 'phr'), why);
  });

  it('a sign-in by a link is one of the moment in which the link is used', async () => {
    const beforeMs = Date.now();
    const signIn = await attested(await signedIn(server));
    expect(signIn?.atMs).toBeGreaterThanOrEqual(beforeMs);
    expect(signIn?.atMs).toBeLessThanOrEqual(Date.now());
    expect(Object.keys(signIn ?? {})).toEqual(['atMs']);
  });
});
