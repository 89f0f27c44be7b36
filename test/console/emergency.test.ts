import type { Page } from 'playwright-core';
import { axeViolations, LAPTOP, overflowsSideways, PHONE } from '../support/browser';
import { remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { press, startConsoleStage, type ConsoleStage } from '../support/console-stage';
import { eventually } from '../support/eventually';

let stage: ConsoleStage;
const clock = testClock();
beforeAll(async () => {
  const people = `  r1: { groups: [dba] }
  r2: { groups: [dba] }
  l1: { groups: [dba-leads] }
  o1: { groups: [oncall] }
  o2: { groups: [oncall] }
  u1: { groups: [platform] }`;
  stage = await startConsoleStage({
    policy: {
      people,
      moreRules: `  - id: break-glass
    server: orders-db
    scope: { tools: [delete_rows] }
    approvers: { groups: [oncall] }
    emergency: { reviewWithin: 8h }
`,
    },
    secondReviewShare: 1,
    clock: clock.nowMs,
  });
});
afterAll(() => stage.close());

let rows = 0;
async function asked(tool = remove) {
  rows += 1;
  const turn = await stage.start([tool('c1', { id: rows })], { requester: someone() });
  const [request] = await stage.requests(turn);
  if (request === undefined) throw new Error('nobody was asked');
  return { turn, request, id: rows, path: `/requests/${request.operationId}` };
}
const runs = (id: number) => stage.tools.runs.filter((run) => run.arguments['id'] === id).length;
const emergency = { rule: 'break-glass', ticket: 'INC-7' };

/** At the widths of a phone and of a laptop, with nothing that axe finds. */
async function fitsAnyWindow(page: Page): Promise<void> {
  for (const size of [PHONE, LAPTOP]) {
    await page.setViewportSize(size);
    expect(await axeViolations(page)).toEqual([]);
    expect(await overflowsSideways(page)).toBe(false);
  }
}

async function allowedByApi(): Promise<string> {
  const { turn, request, path } = await asked();
  const body = { answer: 'allow', revision: 1, digest: request.bindingDigest, reason: 'down', emergency };
  expect((await decision(path, body)).status).toBe(200);
  await turn.results();
  return `gr_${request.operationId.slice(3)}.1`;
}
const decision = async (path: string, body: object, person = 'o1') =>
  stage.api(person, `${path}/decisions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

test('somebody on call allows as an emergency on the page, and one of those who were skipped reviews it there [WHO-18] [TIME2-15]', async () => {
  const { turn, request, id, path } = await asked();
  const { page, complaints } = await stage.signedIn('o1', path, { viewport: PHONE });
  expect(await page.locator('aside').textContent()).toContain('o1 is not an approver of this request');
  await page.getByText('In an emergency: rule break-glass').click();
  expect(await page.locator('details.emergency').textContent()).toMatch(
    /It skips\s+l1, r1, r2, who are told at once\.\s+One of l1, r1, r2 has to review it within 8 h/,
  );
  await fitsAnyWindow(page);
  await page.getByLabel('Ticket of the incident').fill('INC-7');
  await page.getByLabel('Why it cannot wait').fill('the site is down');
  await page.getByLabel('I have read what will run, and know that this skips its approvers.').check();
  expect(await press(page, 'Allow as an emergency')).toBe(200);
  expect((await turn.results())[0]).toMatchObject({
    outcome: 'executed',
    end: { approval: { emergency: true, verified: true } },
  });
  expect(runs(id)).toBe(1);
  expect(complaints).toEqual([]);

  const { page: other } = await stage.signedIn('r1', `/retrospectives#gr_${request.operationId.slice(3)}.1`);
  const row = other.locator('li.emergency');
  for (const shown of [
    'orders-db / delete_rows',
    'o1 under rule break-glass',
    'INC-7',
    'the site is down',
    'l1, r1, r2',
    String(id),
  ])
    expect(await row.textContent()).toContain(shown);
  await fitsAnyWindow(other);
  // Wide as the window is, one thing comes below the other.
  const parts = await Promise.all((await row.locator('> *').all()).map((part) => part.boundingBox()));
  expect(new Set(parts.map((box) => box?.x)).size).toBe(1);
  await other.getByLabel('It was not').check();
  await other.getByLabel('What you found, and what follows from it').fill('it could have waited');
  expect(await press(other, 'Close the review')).toBe(200);
  expect(await other.locator('main').textContent()).toContain('Your review is on record.');
  expect(await other.locator('li.emergency').textContent()).toMatch(/not justified, .* by r1: .*it could have waited/);
  const facts = await stage.facts(request.operationId);
  expect(facts.find(({ kind }) => kind === 'retrospective.closed')?.body).toMatchObject({ by: 'r1', verified: true });
  await other.goto(`${stage.url}/operations/${request.operationId}`);
  expect(await other.locator('main').textContent()).toContain('It was an emergency: who was skipped was told');
  expect(await other.locator('main').textContent()).toMatch(/Allowed by o1\s+as an emergency, under rule break-glass/);
});

test('a ticket of blanks is refused on the page, which gives the form back with the reason; put right, it counts', async () => {
  const { turn, id, path } = await asked();
  const { page } = await stage.signedIn('o1', path, { javaScriptEnabled: false });
  await page.getByText('In an emergency: rule break-glass').click();
  await page.getByLabel('Ticket of the incident').fill('  ');
  await page.getByLabel('Why it cannot wait').fill('the site is down');
  await page.getByRole('checkbox').check();
  expect(await press(page, 'Allow as an emergency')).toBe(422);
  expect(await page.locator('main').textContent()).toContain('An emergency needs the id of its ticket');
  expect(await page.getByLabel('Why it cannot wait').inputValue()).toBe('the site is down');
  expect(await page.getByRole('checkbox').isChecked()).toBe(false);
  expect(runs(id)).toBe(0);
  await page.getByLabel('Ticket of the incident').fill('INC-8');
  await page.getByRole('checkbox').check();
  expect(await press(page, 'Allow as an emergency')).toBe(200);
  expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
  expect(runs(id)).toBe(1);
});

test('a note that is being written stays while the list follows what happens', async () => {
  await allowedByApi();
  const { page } = await stage.signedIn('r1', '/retrospectives');
  const note = page.getByLabel('What you found, and what follows from it').first();
  await note.fill('the replica');
  await page.getByLabel('It was not').first().check();
  const before = await page.locator('li.emergency').count();
  await allowedByApi();
  await eventually(async () => expect(await page.locator('li.emergency').count()).toBe(before + 1));
  expect(await note.inputValue()).toBe('the replica');
  expect(await page.getByLabel('It was not').first().isChecked()).toBe(true);
});

test.each([
  [
    'without a ticket',
    { emergency: { rule: 'break-glass', ticket: ' ' } },
    'emergencyRefused',
    'an emergency needs the id of its ticket',
  ],
  ['without a reason', { reason: undefined }, 'emergencyRefused', 'an emergency needs a reason'],
  [
    'for 16 minutes',
    { minutes: 16 },
    'cannotWiden',
    'a reviewer can shorten what the rule gives, not widen it: it gives this one call and no window, so leave the minutes out',
  ],
])('an emergency %s is refused, with its reason, and nothing runs [TIME2-14]', async (_what, more, code, detail) => {
  const { request, id, path, turn } = await asked();
  const body = { answer: 'allow', revision: 1, digest: request.bindingDigest, reason: 'down', emergency, ...more };
  const answer = await decision(path, body);
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({ code, detail });
  expect(runs(id)).toBe(0);
  await turn.withdraw();
});

test('an emergency for a tool that its rule does not name is refused, with its reason [TIME2-14]', async () => {
  const turn = await stage.start(
    [{ id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'a@b.example' } }],
    {
      requester: someone(),
    },
  );
  const [request] = await stage.requests(turn);
  const body = { answer: 'allow', revision: 1, digest: request!.bindingDigest, reason: 'down', emergency };
  const answer = await decision(`/requests/${request!.operationId}`, body);
  // Who is asked about nothing of it does not see that it is there; the attempt is on record.
  expect(answer.status).toBe(404);
  const facts = await stage.facts(request!.operationId);
  expect(facts.find(({ kind }) => kind === 'decision.notCounted')?.body).toMatchObject({
    code: 'emergencyRefused',
    emergency,
  });
  await turn.withdraw();
});

test('the API lists emergencies to those whom they concern, and closes a review once', async () => {
  const { request, path } = await asked();
  const shown = (await (await stage.api('o1', path)).json()) as { emergencies: object[] };
  expect(shown.emergencies).toMatchObject([{ rule: 'break-glass', reviewWithinMs: 28_800_000, may: { ok: true } }]);
  const body = { answer: 'allow', revision: 1, digest: request.bindingDigest, reason: 'down', emergency };
  expect((await decision(path, body)).status).toBe(200);
  const grantId = `gr_${request.operationId.slice(3)}.1`;
  const list = async (person: string) => {
    const { items } = (await (await stage.api(person, '/retrospectives')).json()) as { items: { grantId: string }[] };
    return items.filter((each) => each.grantId === grantId);
  };
  expect(await list('r1')).toMatchObject([
    { ticket: 'INC-7', skipped: ['l1', 'r1', 'r2'], mayReview: true, closed: null },
  ]);
  expect(await list('o1')).toMatchObject([{ grantId, mayReview: false }]);
  expect(await list('u1')).toEqual([]);
  const close = async (person: string) =>
    stage.api(person, `/retrospectives/${grantId}/review`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ finding: 'justified', note: 'the replica was gone' }),
    });
  expect((await close('u1')).status).toBe(404);
  expect((await close('o1')).status).toBe(409);
  expect(await (await close('r2')).json()).toEqual({
    grantId,
    finding: 'justified',
    note: 'the replica was gone',
    by: 'r2',
  });
  expect(await (await close('r1')).json()).toMatchObject({ code: 'NOT_REVIEWED' });
});

test('a second review shows the request without what was decided, and tells it once the viewer has said theirs', async () => {
  const { request, turn, path } = await asked();
  const denial = { answer: 'deny', revision: 1, digest: request.bindingDigest, reason: 'DECIDED-WORDS' };
  expect((await decision(path, denial, 'r1')).status).toBe(200);
  await turn.results();
  const { page } = await stage.signedIn('r2', '/second-reviews');
  const main = page.locator('main');
  expect(await main.textContent()).toContain('What would you have answered?');
  expect(await main.textContent()).not.toMatch(/DECIDED-WORDS|answered deny/);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByLabel('Allow', { exact: true }).check();
  expect(await press(page, 'Put on record')).toBe(200);
  expect(await main.textContent()).toMatch(/On record\.\s+r1 answered deny,\s+and you would not have\./);
  expect((await stage.facts(request.operationId)).at(-1)).toMatchObject({
    kind: 'review.second',
    body: { by: 'r2', answer: 'allow', agrees: false, verified: true },
  });
});

test('while a review is overdue the page says so in place of the form, and leads to it [TIME2-15]', async () => {
  const grantId = await allowedByApi();
  clock.advance(8 * 60 * MINUTE_MS);
  const { turn, path } = await asked();
  const { page } = await stage.signedIn('o2', path);
  await page.getByText('In an emergency: rule break-glass').click();
  const offer = page.locator('details.emergency');
  expect(await offer.textContent()).toContain('You cannot use it now:');
  expect(await offer.getByRole('textbox').count()).toBe(0);
  await fitsAnyWindow(page);
  await offer.getByRole('link', { name: 'the review of an earlier emergency' }).click();
  const first = page.locator('li.emergency').first();
  expect(new URL(page.url()).hash).toBe(`#${(await first.getAttribute('id')) ?? ''}`);
  expect(await first.textContent()).toContain('review overdue');
  expect(await page.locator(`[id="${grantId}"]`).textContent()).toContain('review overdue');
  // o2 was skipped by nobody, and reads it only.
  expect(await page.getByRole('button', { name: 'Close the review' }).count()).toBe(0);
  await turn.withdraw();
});
