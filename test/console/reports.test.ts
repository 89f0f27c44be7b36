import type { Browser, Page } from 'playwright-core';
import type { Reports } from '../../console/reports/report';
import { answersAsDocumented } from '../support/answers-as-documented';
import { axeViolations, LAPTOP, openBrowser, openWindow, overflowsSideways, PHONE } from '../support/browser';
import { startDrivenConsole, type DrivenConsole } from '../support/driven-console';
import { pagesApp } from '../support/page-server';
import { VIEWER } from '../support/request-views';

const T0 = Date.UTC(2026, 0, 1, 10);
const HOUR_MS = 3_600_000;
const NONE = {
  ...{ opened: 0, allowed: 0, denied: 0, expired: 0, withdrawn: 0, refused: 0 },
  ...{ escalated: 0, stale: 0, repeated: 0, afterDenial: 0 },
};
const RULE = { rule: 'production-migrations', server: 'orders-db' } as const;
const RULES_LINES = [
  {
    ...{ ...RULE, tool: 'delete_rows', ...NONE, opened: 6, allowed: 3, denied: 1, expired: 1, escalated: 1 },
    ...{ repeated: 2, afterDenial: 1, staleBy: [], signs: ['oftenAbandoned', 'oftenRepeated'] },
  },
  {
    ...{ ...RULE, tool: 'drop_table', ...NONE, opened: 3, allowed: 2, withdrawn: 1, stale: 1 },
    ...{ staleBy: [{ cause: 'resourceChanged', count: 1 }], signs: [] },
  },
  { rule: null, server: 'mail', tool: 'send', ...NONE, opened: 1, staleBy: [], signs: [] },
  { ...RULE, tool: 'truncate', ...NONE, opened: 1, allowed: 1, escalated: 1, staleBy: [], signs: [] },
];

let served: DrivenConsole;
let browser: Browser;

beforeAll(async () => {
  served = await startDrivenConsole(T0);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await served.close();
});

async function reportsOf(window: string, person = 'omar'): Promise<Reports> {
  const answer = await served.as(person, `/api/v1/reports?window=${window}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Reports;
}

describe('the report on rules', () => {
  it('says how much each rule asked for each tool, and what became of it', async () => {
    const { rules } = await reportsOf('24h');
    expect(rules.items).toEqual(RULES_LINES);
    expect(rules.totals).toEqual({
      ...{ opened: 11, allowed: 6, denied: 1, expired: 1, withdrawn: 1, refused: 0 },
      ...{ escalated: 2, stale: 1, repeated: 2, afterDenial: 1 },
    });
    expect(rules.idle).toEqual(['never-asked']);
  });

  it('says what became of operations, and how many failed after people had allowed them', async () => {
    const none = { executed: 0, executedWithError: 0, failed: 0, unknown: 0, failedAfterApproval: 0 };
    expect((await reportsOf('24h')).rules.outcomes).toEqual([
      { server: 'orders-db', tool: 'delete_rows', sent: 3, ...none, executed: 2, failed: 1, failedAfterApproval: 1 },
      { server: 'orders-db', tool: 'truncate', sent: 2, ...none, executed: 1 },
      { server: 'mail', tool: 'read', sent: 1, ...none, executedWithError: 1 },
      { server: 'orders-db', tool: 'drop_table', sent: 1, ...none, unknown: 1, failedAfterApproval: 1 },
    ]);
  });

  it('divides its window into equal parts that end now', async () => {
    const [day, week, month] = [await reportsOf('24h'), await reportsOf('7d'), await reportsOf('30d')];
    expect([day, week, month].map(({ rules }) => rules.parts.length)).toEqual([24, 7, 30]);
    const { toMs, rules } = day;
    expect([toMs - day.fromMs, toMs - week.fromMs, toMs - month.fromMs]).toEqual([864e5, 6048e5, 2592e6]);
    expect(rules.parts.map(({ fromMs }) => (toMs - fromMs) / HOUR_MS)).toEqual([
      24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    ]);
    const part = { opened: 0, allowed: 0, denied: 0, expired: 0, repeated: 0, failedAfterApproval: 0 };
    // 10:00 to 12:43:46 on the clock of the driven day: what ended in its first 44 minutes, and what came 2 h later.
    expect(rules.parts.slice(-3).map(({ fromMs: _fromMs, ...numbers }) => numbers)).toEqual([
      { ...part, opened: 9, allowed: 5, denied: 1, expired: 1, repeated: 2, failedAfterApproval: 2 },
      part,
      { ...part, opened: 2, allowed: 1 },
    ]);
    expect(week.rules.totals).toEqual(day.rules.totals);
  });
});

describe('the report on reviews', () => {
  it('says how long decisions took, and how they came in', async () => {
    const { reviews } = await reportsOf('24h');
    const { classes, ...rest } = reviews;
    expect(rest).toEqual({
      ...{ allowed: 6, denied: 1, p50Ms: 20_000, p95Ms: 7_200_000 },
      groups: [{ group: 'dba', decisions: 6, denied: 1, p50Ms: 10_000, p95Ms: 400_000 }],
      smallGroups: ['dba-leads'],
      channels: [
        { channel: 'console', count: 6 },
        { channel: 'cli', count: 1 },
      ],
    });
    expect(classes.filter(({ count }) => count > 0)).toEqual([
      { upToMs: 5_000, count: 2 },
      { upToMs: 15_000, count: 1 },
      { upToMs: 30_000, count: 1 },
      { upToMs: 120_000, count: 1 },
      { upToMs: 600_000, count: 1 },
      { upToMs: 7_200_000, count: 1 },
    ]);
    expect(classes.at(-1)).toEqual({ upToMs: null, count: 0 });
  });

  it('names no person', async () => {
    const text = JSON.stringify(await reportsOf('30d'));
    for (const person of ['"r1"', '"r2"', '"r3"', '"l1"', 'omar', 'someone']) expect(text).not.toContain(person);
  });
});

describe('a window', () => {
  it('holds what happened in it and nothing before', async () => {
    const later = await startDrivenConsole(T0);
    later.clock.nowMs = T0 + 24 * HOUR_MS + 90_000;
    const answer = await later.as('omar', '/api/v1/reports?window=24h');
    const { rules, reviews } = (await answer.json()) as Reports;
    // The first request was opened before it and decided at its very beginning.
    expect([rules.totals.opened, rules.totals.allowed, reviews.allowed]).toEqual([10, 6, 6]);
    await later.close();
  });

  it('is 7 days where none is named, and no other than 24h, 7d and 30d', async () => {
    expect(await (await served.as('omar', '/api/v1/reports')).json()).toMatchObject({ window: '7d' });
    for (const query of ['window=1h', 'window=', 'since=7d', 'window=7d&window=24h']) {
      const answer = await served.as('omar', `/api/v1/reports?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(await answer.json()).toMatchObject({ code: 'INVALID_REQUEST' });
    }
  });
});

describe('who is no operator', () => {
  it('is answered as if there were no reports, by the API and by the pages', async () => {
    for (const person of ['r1', 'vik']) {
      const [answer, other] = [
        await served.as(person, '/api/v1/reports'),
        await served.as(person, '/api/v1/requests/op_none'),
      ];
      expect([answer.status, await answer.text()]).toEqual([404, await other.text()]);
    }
    const app = pagesApp({ reports: async () => null }, { ...VIEWER, isOperator: false });
    for (const path of ['/reports', '/reports/reviews']) expect((await app.request(path)).status).toBe(404);
    const grants = pagesApp(
      { queue: async () => ({ items: [], next: null, nowMs: T0 }) },
      { ...VIEWER, isOperator: false },
    );
    expect(await (await grants.request('/')).text()).not.toContain('Reports');
  });
});

describe('the pages of the reports', () => {
  const signedIn = async (path: string, options: Parameters<typeof openWindow>[1] = {}) => {
    const window = await openWindow(browser, options);
    const code = await served.mint.mintLink('omar', HOUR_MS);
    await window.page.goto(`${served.url}/sign-in/link?${new URLSearchParams({ to: path, code }).toString()}`);
    await window.page.getByRole('button', { name: 'Sign in as omar' }).click();
    await window.page.waitForURL(served.url + path);
    return window;
  };

  it.each([
    ['light', 'a laptop', LAPTOP],
    ['dark', 'a phone', PHONE],
  ] as const)('have no fault that axe finds, %s on %s, and are not wider', async (colorScheme, _what, viewport) => {
    const { page, complaints } = await signedIn('/reports', { colorScheme, viewport });
    for (const path of ['/reports', '/reports/reviews']) {
      await page.goto(served.url + path);
      for (const summary of await page.locator('summary').all()) await summary.click();
      // A head of three lines at most: no word of it is broken into letters.
      const tallestPx = `Math.max(...[...document.querySelectorAll('thead th')].map((each) => each.offsetHeight))`;
      expect(await page.evaluate(tallestPx)).toBeLessThan(75);
      expect({ path, found: await axeViolations(page) }).toEqual({ path, found: [] });
      expect({ path, overflows: await overflowsSideways(page) }).toEqual({ path, overflows: false });
    }
    expect(complaints).toEqual([]);
  });

  let open: Page | null = null;
  /** One window for all that only look. */
  const withoutScript = async (path: string): Promise<Page> => {
    open ??= (await signedIn(path, { javaScriptEnabled: false })).page;
    await open.goto(served.url + path);
    return open;
  };

  it('are two, reached by the navigation, and lead to each other in the same window, without script', async () => {
    const page = await withoutScript('/');
    await page.getByRole('link', { name: 'Reports' }).click();
    expect(await page.locator('h1').innerText()).toBe('Reports: rules');
    await page.getByRole('link', { name: '24 hours' }).click();
    await page.getByRole('link', { name: 'Reviews' }).click();
    expect(page.url()).toBe(`${served.url}/reports/reviews?window=24h`);
    expect(await page.locator('h1').innerText()).toBe('Reports: reviews');
    expect(await page.locator('[aria-current=page]').allInnerTexts()).toEqual(['Reports', 'Reviews', '24 hours']);
  });

  it('draw what a table beside each plot says', async () => {
    const page = await withoutScript('/reports?window=24h');
    const plots = await page.getByRole('img').all();
    const drawn = await Promise.all(plots.map((plot) => plot.locator('.bar, .dot').count()));
    expect(drawn).toEqual([2, 2, 2, 1, 1]);
    const named = page.getByRole('img', { name: 'Denied, of those decided 1 of 7 (14\u00a0%).' });
    expect(await named.locator('title').allTextContents()).toEqual([
      '2026-01-01 09:43:46 UTC: 17\u00a0%',
      '2026-01-01 11:43:46 UTC: 0\u00a0%',
    ]);
    await page.locator('figure', { hasText: 'Denied, of those decided' }).locator('summary').click();
    const rows = await page.getByRole('table', { name: 'Denied, of those decided' }).locator('tr').allInnerTexts();
    expect([rows.length, rows[0], rows[1], rows.at(-1)]).toEqual([
      25,
      'From, for an hour\tShare',
      '2025-12-31 12:43:46 UTC\tnone',
      '2026-01-01 11:43:46 UTC\t0\u00a0%',
    ]);
  });

  it('say what is worth a look, and why something went stale', async () => {
    const page = await withoutScript('/reports?window=24h');
    const rows = page.getByRole('table', { name: 'By rule and tool' }).locator('tbody tr');
    expect(await rows.nth(0).locator('.sign').allInnerTexts()).toEqual(['often abandoned', 'often asked again']);
    expect(await rows.nth(1).innerText()).toContain('the resource changed after the approval (1)');
    expect(await rows.nth(2).locator('th').innerText()).toBe('asked by the runtime itself\nmail / send');
  });

  it('show names from outside as they show them everywhere, and run nothing of them', async () => {
    const { rules, ...reports } = await reportsOf('24h');
    const hostile = { ...rules.items[0]!, rule: '"><script>pwned=1</script>', server: 'a\u202Eb', tool: '<img src=x>' };
    const app = pagesApp({
      reports: async () => ({ ...reports, rules: { ...rules, items: [hostile], idle: ['<b>idle</b>'] } }),
    });
    const text = await (await app.request('/reports')).text();
    expect(text).toContain('&quot;&gt;&lt;script&gt;pwned=1&lt;/script&gt;');
    expect(text).toContain('a⟦U+202E⟧b');
    expect(text).not.toMatch(/<script>|<img|<b>idle|style=/);
  });
});

it('answers as the document of the API says', async () => {
  const document = (await (await fetch(`${served.url}/api/v1/openapi.json`)).json()) as Record<string, unknown>;
  const check = answersAsDocumented(document);
  for (const [person, path] of [
    ['omar', '/reports?window=24h'],
    ['omar', '/reports?window=1h'],
    ['vik', '/reports'],
  ] as const) {
    const answer = await served.as(person, `/api/v1${path}`);
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    check('GET', path, {
      status: answer.status,
      type,
      headers: answer.headers,
      text,
      body: JSON.parse(text) as unknown,
    });
  }
});
