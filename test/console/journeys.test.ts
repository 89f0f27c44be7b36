import { randomUUID } from 'node:crypto';
import type { ApprovalRequest } from '../../core/request';
import type { Turn } from '../../client';
import { verifyAuditExport } from '../../ledger/audit-export';
import { allow, deny, press, startConsoleStage, type ConsoleStage } from '../support/console-stage';
import { eventually } from '../support/eventually';

/** The journeys of people through the console, on a real worker, ledger, tool server and browser. */
let stage: ConsoleStage;

beforeAll(async () => {
  stage = await startConsoleStage({ policy: { preview: true } });
});

afterAll(() => stage.close());

const migration = (sql: string) => ({
  ...{ id: 'c1', server: 'orders-db', tool: 'apply_migration' },
  arguments: { environment: 'production', sql },
});

async function asked(
  sql: string,
): Promise<{ readonly turn: Turn; readonly request: ApprovalRequest; readonly path: string }> {
  const turn = await stage.start([migration(sql)], { id: randomUUID() });
  const [request] = await stage.requests(turn);
  if (request === undefined) throw new Error('nobody was asked');
  return { turn, request, path: `/requests/${request.operationId}` };
}

async function outcomeOf(turn: Turn) {
  const [result] = await turn.results();
  return result;
}

function effects(sql: string): number {
  return stage.tools.runsOf('apply_migration').filter((run) => run.arguments['sql'] === sql).length;
}

test('a reviewer comes by a link, signs in, reads, allows: it runs once, signed, with the console on record', async () => {
  const { turn, request, path } = await asked('ADD j1');
  const { page, complaints } = await stage.signedIn('r1', path);
  expect(new URL(page.url()).pathname).toBe(path);
  const text = (await page.locator('main').textContent()) ?? '';
  for (const shown of ['ADD j1', 'production', 'u1', 'bot', 'this one operation, once', 'with effort']) {
    expect(text).toContain(shown);
  }
  expect(await allow(page)).toBe(200);
  expect(await page.locator('main').textContent()).toContain('Your allow is on record, and the request is allowed.');
  expect((await outcomeOf(turn))?.outcome).toBe('executed');
  expect(effects('ADD j1')).toBe(1);
  const recorded = (await stage.facts(request.operationId)).find(({ kind }) => kind === 'decision.recorded');
  expect(recorded?.body).toMatchObject({ reviewer: 'r1', answer: 'allow', channel: 'console', signature: 'vouched' });
  expect(complaints).toEqual([]);
});

test('an operator reports that an effect was undone, once, and exports an audit that verifies offline', async () => {
  const { turn, request } = await asked('ADD j20');
  const reviewer = await stage.signedIn('r1', `/requests/${request.operationId}`);
  expect(await allow(reviewer.page)).toBe(200);
  expect((await outcomeOf(turn))?.outcome).toBe('executed');
  await reviewer.page.goto(`${stage.url}/operations/${request.operationId}`);
  expect(await reviewer.page.getByText('Report that its effect was undone').count()).toBe(0);
  expect((await reviewer.page.request.get(`${stage.url}/audit/export`)).status()).toBe(404);

  const { page } = await stage.signedIn('l1', `/operations/${request.operationId}`);
  await page.getByText('Report that its effect was undone').click();
  await page.getByLabel('What was wrong, and how it was undone').fill('the wrong tenant');
  expect(await press(page, 'Put on record')).toBe(200);
  expect(await page.locator('main').textContent()).toContain('The effect was reported as undone');
  expect(await page.getByText('Report that its effect was undone').count()).toBe(0);
  const reversed = (await stage.facts(request.operationId)).find(({ kind }) => kind === 'operation.reversed');
  expect(reversed?.body).toEqual({ by: 'l1', reason: 'the wrong tenant', verified: true });

  const lines = (await (await page.request.get(`${stage.url}/audit/export`)).text()).split('\n');
  const report = await verifyAuditExport(lines, { publicKeys: [] });
  expect(report).toMatchObject({ problems: [] });
  const changed = lines.map((line) => line.replace('the wrong tenant', 'the right tenant'));
  expect((await verifyAuditExport(changed, { publicKeys: [] })).problems.length).toBeGreaterThan(0);
});

test('a denial needs a reason, which reaches the agent; nothing runs', async () => {
  const { turn, path } = await asked('ADD j2');
  const { page } = await stage.signedIn('r1', path);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  // The browser itself holds the form back.
  expect(await page.locator('textarea:invalid').count()).toBe(1);
  expect(await deny(page, 'use the staging copy')).toBe(200);
  const result = await outcomeOf(turn);
  expect(result?.outcome).toBe('denied');
  expect(result?.textForModel).toContain('"use the staging copy"');
  expect(effects('ADD j2')).toBe(0);
});

test('without JavaScript everything works the same', async () => {
  const { turn, path } = await asked('ADD j3');
  const { page } = await stage.signedIn('r2', '/', { javaScriptEnabled: false });
  await page.locator(`main a[href^="${path}"]`).first().click();
  expect(await allow(page)).toBe(200);
  expect((await outcomeOf(turn))?.outcome).toBe('executed');
});

test('two reviewers race: one counts, the other is told who won with 409, and one effect is made [WEB-7]', async () => {
  const { turn, path } = await asked('ADD j4');
  const [first, second] = await Promise.all([
    stage.signedIn('r1', path, { javaScriptEnabled: false }),
    stage.signedIn('r2', path, { javaScriptEnabled: false }),
  ]);
  const statuses = await Promise.all([allow(first.page), deny(second.page, 'no')]);
  const winner = statuses[0] === 200 ? 'allow' : 'deny';
  expect([...statuses].sort()).toEqual([200, 409]);
  const loser = winner === 'allow' ? second.page : first.page;
  expect(await loser.locator('main').textContent()).toContain(winner === 'allow' ? 'r1' : 'r2');
  expect((await outcomeOf(turn))?.outcome).toBe(winner === 'allow' ? 'executed' : 'denied');
  expect(effects('ADD j4')).toBe(winner === 'allow' ? 1 : 0);
});

test('the same allow sent twice gets the same answer, a deny after it 409 with the first decision [WEB-7]', async () => {
  const { turn, path } = await asked('ADD j5');
  const { page } = await stage.signedIn('r1', path, { javaScriptEnabled: false });
  const tabs = [page, await page.context().newPage(), await page.context().newPage()] as const;
  for (const tab of tabs) await tab.goto(`${stage.url}${path}`);
  expect(await allow(tabs[0])).toBe(200);
  expect(await allow(tabs[1])).toBe(200);
  expect(await tabs[1].locator('main').textContent()).toContain('Your allow is on record');
  expect(await deny(tabs[2], 'second thoughts')).toBe(409);
  expect(await tabs[2].locator('main').textContent()).toContain('r1');
  expect((await outcomeOf(turn))?.outcome).toBe('executed');
  expect(effects('ADD j5')).toBe(1);
});

test('an open page is told of a decision within a second, and its buttons are off [SCREEN-10]', async () => {
  const { request, path } = await asked('ADD j6');
  const { page } = await stage.signedIn('r2', path);
  const before = await page.getByRole('button', { name: 'Allow', exact: true }).boundingBox();
  await stage.api('r1', `/requests/${request.operationId}/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ answer: 'deny', reason: 'no', revision: 1, digest: request.bindingDigest }),
  });
  await page.getByText('now denied').waitFor({ timeout: 10_000 });
  const button = page.getByRole('button', { name: 'Allow', exact: true });
  expect(await button.isDisabled()).toBe(true);
  expect(await button.boundingBox()).toEqual(before);
});

test('a new request appears in an open queue', async () => {
  const { page } = await stage.signedIn('r1', '/');
  const { request } = await asked('ADD j7');
  await page.getByText(request.shortId).waitFor({ timeout: 10_000 });
});

test('a request that changed while it was open: the decision on the old one is stale, 409, and the new one stays open [SCREEN-9]', async () => {
  const { turn, request, path } = await asked('ADD j8');
  const { page } = await stage.signedIn('r2', path, { javaScriptEnabled: false });
  // The target moves between the allow and the re-check, so that the request goes back to review.
  stage.tools.setVersion(8);
  expect(
    (
      await stage.api('r1', `/requests/${request.operationId}/decisions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ answer: 'allow', revision: 1, digest: request.bindingDigest }),
      })
    ).status,
  ).toBe(200);
  await eventually(async () => {
    const open = (await turn.snapshot()).requiredActions;
    if (open[0]?.revision !== 2) throw new Error('not asked again yet');
  });
  expect(await allow(page)).toBe(409);
  expect(await page.locator('main').textContent()).toMatch(/revision 2/i);
  expect(effects('ADD j8')).toBe(0);
  await page.goto(`${stage.url}${path}`);
  expect(await page.locator('main').textContent()).toContain('Asked again: the resource changed after the approval');
  expect(await allow(page)).toBe(200);
  expect((await outcomeOf(turn))?.outcome).toBe('executed');
});

test('an expired or ended session decides nothing: the person signs in again', async () => {
  const { turn, path } = await asked('ADD j9');
  const { page } = await stage.signedIn('r1', path, { javaScriptEnabled: false });
  await page.context().clearCookies();
  expect(await allow(page)).toBe(403);
  await page.goto(`${stage.url}${path}`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  expect((await turn.snapshot()).requiredActions).toHaveLength(1);
});

test('reloaded three times it is one card with the same id and the right time left [EVT-04]', async () => {
  const { request, path } = await asked('ADD j10');
  const { page } = await stage.signedIn('r1', '/');
  for (let load = 0; load < 3; load += 1) {
    await page.reload();
    expect(await page.locator(`main a[href^="${path}"]`).count()).toBe(1);
    expect(await page.locator('main').textContent()).toContain(request.shortId);
  }
  const deadline = await page.locator(`main li:has(a[href^="${path}"]) time`).first().getAttribute('datetime');
  expect(Date.parse(deadline ?? '')).toBe(request.deadlineAtMs);
});

test('a call through a sub-agent: the inner tool, its bound arguments and the whole chain are on the page [NEST-02]', async () => {
  const requester = { subject: 'u1', agent: 'sub', chain: ['u1', 'bot', 'sub'] };
  const turn = await stage.start([migration('ADD nested')], { id: randomUUID(), requester });
  const [request] = await stage.requests(turn);
  const { page } = await stage.signedIn('r1', `/requests/${request?.operationId ?? ''}`);
  const text = ((await page.locator('main').textContent()) ?? '').replace(/\s+/g, ' ');
  expect(text).toContain('orders-db / apply_migration');
  expect(text).toContain('ADD nested');
  for (const link of ['u1', 'bot', 'sub']) expect(text).toContain(link);
});

test('a second tab lists what is open at once, and a stream that was cut misses nothing [EVT-09]', async () => {
  const { request } = await asked('ADD tabs 1');
  const { page } = await stage.signedIn('r1', '/');
  const second = await page.context().newPage();
  await second.goto(stage.url);
  expect(await second.locator('main').textContent()).toContain(request.shortId);
  await page.context().setOffline(true);
  const { request: meanwhile } = await asked('ADD tabs 2');
  await page.context().setOffline(false);
  await page.getByText(meanwhile.shortId).waitFor({ timeout: 20_000 });
});

test('without a token 401; another’s request and one that does not exist are the same 404 [WHO-06]', async () => {
  const { request } = await asked('ADD whose');
  const path = `/requests/${request.operationId}`;
  expect((await fetch(`${stage.url}/api/v1${path}`)).status).toBe(401);
  const theirs = await stage.api('u2', path);
  const none = await stage.api('u2', `/requests/op_${'0'.repeat(40)}`);
  expect([theirs.status, none.status]).toEqual([404, 404]);
  expect(await theirs.text()).toBe(await none.text());
});

test('a body that names another reviewer decides nothing, and one that widens the rule is refused [WHO-01] [SWAP-10]', async () => {
  const { turn, request } = await asked('ADD named');
  const send = (person: string, more: Record<string, unknown>) =>
    stage.api(person, `/requests/${request.operationId}/decisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ answer: 'allow', revision: 1, digest: request.bindingDigest, ...more }),
    });
  expect((await send('u2', { reviewer: 'r1' })).status).toBe(400);
  const widened = await send('r1', { minutes: 60 });
  expect([widened.status, ((await widened.json()) as { code: string }).code]).toEqual([422, 'cannotWiden']);
  expect((await turn.snapshot()).requiredActions).toHaveLength(1);
  const facts = await stage.facts(request.operationId);
  expect(facts.filter(({ kind }) => kind === 'decision.recorded' || kind === 'grant.issued')).toEqual([]);
});

test('an outsider with the link signs in and learns nothing; a decision by hand counts nowhere and is on record [WEB-2] [FORGE-3] [FORGE-7]', async () => {
  const { turn, request, path } = await asked('ADD j11');
  const { page } = await stage.signedIn('u2', path);
  const text = (await page.locator('body').textContent()) ?? '';
  expect(text).not.toContain('ADD j11');
  expect(text).toContain('Nothing is here for you');
  const answer = await stage.api('u2', `/requests/${request.operationId}/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ answer: 'allow', revision: 1, digest: request.bindingDigest }),
  });
  expect(answer.status).toBe(404);
  const attempts = (await stage.facts(request.operationId)).filter(({ kind }) => kind === 'decision.notCounted');
  expect(attempts.map(({ body }) => [body['reviewer'], body['code']])).toEqual([['u2', 'notAReviewer']]);
  expect((await turn.snapshot()).requiredActions).toHaveLength(1);
});

test('an operator settles an unknown outcome with a reason; nobody else is offered that', async () => {
  stage.tools.behave('send_mail', { kind: 'http', status: 502, work: true }, 1);
  const calls = [{ id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'a@example.com' } }];
  const turn = await stage.start(calls, { id: randomUUID() });
  const [request] = await stage.requests(turn);
  const reviewer = await stage.signedIn('r1', `/requests/${request?.operationId ?? ''}`);
  expect(await allow(reviewer.page)).toBe(200);
  expect((await outcomeOf(turn))?.outcome).toBe('unknown');
  const path = `/operations/${request?.operationId ?? ''}`;
  await reviewer.page.goto(`${stage.url}${path}`);
  expect(await reviewer.page.getByRole('button', { name: /settle/i }).count()).toBe(0);
  const { page } = await stage.signedIn('l1', '/operations?state=unknown', { javaScriptEnabled: false });
  await page.locator(`main a[href^="${path}"]`).first().click();
  await page.getByRole('radio', { name: /executed|took effect/i }).check();
  await page.getByRole('textbox').fill('the mail is in the outbox of the server, ticket OPS-112');
  expect(await press(page, 'Settle')).toBe(200);
  const settled = (await stage.facts(request?.operationId)).find(({ kind }) => kind === 'operation.settlement');
  expect(settled?.body).toMatchObject({ by: 'l1', outcome: 'executed', verified: true });
  expect(await page.locator('main').textContent()).toContain('OPS-112');
});

test('a person who left the policy is shown nothing from the next page on [FORGE-12]', async () => {
  const { turn, path } = await asked('ADD j12');
  const { page } = await stage.signedIn('r2', path, { javaScriptEnabled: false });
  await stage.applyPolicy({
    ...{ trust: 'signatures', preview: true, console: stage.consoleEntry },
    people:
      '  r1: { groups: [dba] }\n  l1: { groups: [dba-leads] }\n  u1: { groups: [platform] }\n  u2: { groups: [platform] }',
  });
  expect(await allow(page)).toBe(403);
  expect(await page.locator('main').textContent()).toContain('r2');
  expect((await turn.snapshot()).requiredActions).toHaveLength(1);
  await stage.applyPolicy({ trust: 'signatures', preview: true, console: stage.consoleEntry });
});
