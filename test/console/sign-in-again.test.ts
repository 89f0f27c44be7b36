import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { allow, press, startConsoleStage, type ConsoleStage } from '../support/console-stage';
import { startOidcProvider, type OidcProvider } from '../support/oidc-provider';

/** The way of a reviewer whose sign-in is too old or too weak: through a real provider, and back to the request. */
let provider: OidcProvider;
let stage: ConsoleStage;

const RULE = `  - id: careful
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { people: [r1] }
    signIn: { within: 5m, acr: [phr] }
  - id: break-glass
    server: orders-db
    scope: { tools: [apply_migration] }
    approvers: { people: [r2] }
    emergency: { reviewWithin: 8h }`;

beforeAll(async () => {
  provider = await startOidcProvider();
  const { issuer, clientSecret } = provider;
  const oidc = { issuer, clientId: 'console', clientSecret, scopes: ['openid'], claim: 'sub' };
  stage = await startConsoleStage({ oidc, policy: { rules: RULE } });
  await provider.open(`${stage.url}/sign-in/callback`);
});

afterAll(async () => {
  await stage.close();
  await provider.close();
});

async function asked() {
  const sql = `ADD ${randomUUID()}`;
  const call = {
    id: 'c1',
    server: 'orders-db',
    tool: 'apply_migration',
    arguments: { environment: 'production', sql },
  };
  const turn = await stage.start([call], { id: randomUUID() });
  const [request] = await stage.requests(turn);
  if (request === undefined) throw new Error('nobody was asked');
  return { turn, request, path: `/requests/${request.operationId}` };
}

/** Signs in at the provider, which the page has been led to. */
async function atProvider(page: Page, person: string, more = ''): Promise<void> {
  await page.goto(`${page.url()}?account=${person}${more}`);
}

async function again(page: Page, more = ''): Promise<void> {
  await page.getByRole('link', { name: 'Sign in again to allow' }).first().click();
  await page.getByRole('link', { name: /^Sign in with/ }).click();
  await atProvider(page, 'r1', more);
}

/** Signs in at a provider that says when that was: hours ago. */
async function signedInBefore(page: Page, { path, hours }: { path: string; hours: number }): Promise<void> {
  const begun = await page.request.get(`${stage.url}/sign-in/oidc?to=${encodeURIComponent(path)}`, { maxRedirects: 0 });
  await page.goto(`${begun.headers()['location'] ?? ''}&max_age=86400`);
  await atProvider(page, 'r1', `&acr=phr&ts=${Math.floor(Date.now() / 1_000) - hours * 3_600}`);
}

const mainOf = async (page: Page) => (await page.locator('main').textContent()) ?? '';

test('a sign-in that is too old is made again at the provider, which leads back to the request, and the allow counts', async () => {
  const { turn, request, path } = await asked();
  const { page } = await stage.signedIn('r1', '/');
  await signedInBefore(page, { path, hours: 1 });
  expect(await mainOf(page)).toContain(
    'allowing needs a sign-in of the last 5 min, by the authentication class phr, and this one is 1 h old',
  );
  expect(await page.getByRole('button', { name: 'Allow', exact: true }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Deny', exact: true }).count()).toBe(1);
  await again(page, '&acr=phr');
  expect(new URL(page.url()).pathname).toBe(path);
  expect(await allow(page)).toBe(200);
  expect(await mainOf(page)).toContain('Your allow is on record, and the request is allowed.');
  expect((await turn.results())[0]?.outcome).toBe('executed');
  const recorded = (await stage.facts(request.operationId)).find(({ kind }) => kind === 'decision.recorded');
  expect(recorded?.body).toMatchObject({ reviewer: 'r1', signature: 'vouched', signIn: { acr: 'phr' } });
});

test('one that the provider answers with an earlier or a weaker one changes nothing: the old session stays, and cannot allow', async () => {
  const { path } = await asked();
  const { page } = await stage.signedIn('r1', path, { javaScriptEnabled: false });
  const hourAgo = Math.floor(Date.now() / 1_000) - 3_600;
  for (const more of [`&acr=phr&ts=${hourAgo}`, '&acr=pwd', '']) {
    await again(page, more);
    expect(await mainOf(page)).toContain('The provider was asked for a new sign-in');
    await page.goto(`${stage.url}${path}`);
    expect(await page.getByRole('button', { name: 'Allow', exact: true }).count()).toBe(0);
  }
});

test('a form that was open while the sign-in grew old is refused, on record, and leads on to a new one', async () => {
  const { request, path } = await asked();
  const { page } = await stage.signedIn('r2', path, { javaScriptEnabled: false });
  // As on a page from before the rule asked for it: the same form, whose fields the page still has.
  const csrf = (await page.locator('input[name="csrf"]').first().getAttribute('value')) ?? '';
  const { revision, bindingDigest: digest } = request;
  const form = { csrf, decisionId: randomUUID(), revision: String(revision), digest, answer: 'allow', read: 'yes' };
  const emergency = { rule: 'break-glass', ticket: 'INC-7', reason: 'the site is down' };
  const body = new URLSearchParams({ ...form, ...emergency }).toString();
  const fields = [...new URLSearchParams(body)].map(([name, value]) => `<textarea name="${name}">${value}</textarea>`);
  await page.route(`${stage.url}/old-form`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${path}/decision">${fields.join('')}<button>Send</button></form>`,
    }),
  );
  await page.goto(`${stage.url}/old-form`);
  expect(await press(page, 'Send')).toBe(403);
  const text = await mainOf(page);
  expect(text).toContain('Sign in again to allow this');
  expect(text).toContain('Your allow does not count.');
  expect(text).toContain('the site is down');
  const href = await page.getByRole('link', { name: 'Sign in again to allow' }).getAttribute('href');
  expect(href).toBe(`/sign-in?to=${encodeURIComponent(path)}&fresh=1&acr=phr`);
  const kinds = (await stage.facts(request.operationId)).map(({ kind }) => kind);
  expect(kinds).toContain('decision.notCounted');
  expect(kinds).not.toContain('decision.recorded');
});
