import type { GrantsView, OperationView, QueueQuery, Reviews, Viewer } from '../../console/ports';
import type { OperationRecord } from '../../ledger/queries';
import { LedgerError } from '../../ledger/ledger-error';
import { BadCursor } from '../../console/gather';
import { CSRF, pagesApp } from '../support/page-server';
import { GRANT, NOW_MS, OPERATION_ID, requestView, VIEWER } from '../support/request-views';

const OPERATOR: Viewer = { ...VIEWER, isOperator: true };

const OPERATION: OperationRecord = {
  operationId: OPERATION_ID,
  state: 'unknown',
  requester: { subject: 'user:amira', agent: 'support-bot' },
  server: 'orders-db',
  tool: 'apply_migration',
  workflowId: 't1~amira',
  callId: 'c1',
  attempt: 1,
  dispatchedAtMs: NOW_MS - 5_000,
  endedAtMs: NOW_MS - 1_000,
  evidence: null,
  detail: 'no answer came',
  settledBy: null,
  isError: null,
  approval: null,
};

const STORY: OperationView = {
  operationId: OPERATION_ID,
  operation: OPERATION,
  revisions: [requestView()],
  decisions: [],
  facts: [
    { seq: 7, atMs: NOW_MS - 9_000, kind: 'call.proposed', body: { server: 'orders-db' } },
    { seq: 9, atMs: NOW_MS - 5_000, kind: 'operation.dispatched', body: { attempt: 1 } },
    { seq: 11, atMs: NOW_MS - 1_000, kind: 'comet.seen', body: { reason: 'a \u202Etail', '<b>': '<i>' } },
  ],
  nowMs: NOW_MS,
};

async function textOf(reviews: Partial<Reviews>, path: string, viewer: Viewer = VIEWER) {
  const answer = await pagesApp(reviews, viewer).request(path);
  return { status: answer.status, page: await answer.text() };
}

function post(reviews: Partial<Reviews>, path: string, form: Readonly<Record<string, string>>) {
  const body = new URLSearchParams({ csrf: CSRF, ...form });
  return pagesApp(reviews, OPERATOR).request(path, { method: 'POST', body });
}

describe('the queue', () => {
  const asked: QueueQuery[] = [];
  const reviews: Partial<Reviews> = {
    queue: async (_viewer, query) => {
      asked.push(query);
      const standing = { ...requestView().standing, level: 1 };
      return { items: [{ ...requestView(), standing }], next: 'after-this', nowMs: NOW_MS };
    },
  };
  beforeEach(() => void asked.splice(0));

  it('says of each request who asks for what, until when, and how far it has escalated', async () => {
    const { page } = await textOf(reviews, '/');
    expect(asked).toEqual([{ state: 'pending', mine: true }]);
    expect(page).toContain(`href="/requests/${OPERATION_ID}?revision=1"`);
    for (const words of [
      '7KQ2M4XB',
      '>orders-db<',
      '>apply_migration<',
      '>user:amira<',
      '>support-bot<',
      '&quot;production&quot;',
    ])
      expect(page).toContain(words);
    expect(page).toContain('in 28 min</time>');
    expect(page).toContain('2027-01-15 08:28:00 UTC');
    expect(page).toContain('then it expires, not executed');
    expect(page).toMatch(/Escalated to <bdi class="named" dir="ltr">dba-leads<\/bdi> \(level 1 of 1\)/);
    expect(page).toContain('1 request on this page');
  });

  it('leads on to its next page with the same filters', async () => {
    const { page } = await textOf(reviews, '/?all=1&tool=apply_migration');
    expect(asked).toEqual([{ state: 'pending', mine: false, tool: 'apply_migration' }]);
    expect(page).toContain('href="/?all=1&amp;tool=apply_migration&amp;cursor=after-this"');
  });

  it('shows the closed ones of a state', async () => {
    const { page } = await textOf(reviews, '/?state=denied&cursor=x');
    expect(asked).toEqual([{ state: 'denied', mine: false, cursor: 'x' }]);
    expect(page).toContain('<h1>Requests: denied</h1>');
  });

  it.each([
    ['/', 'Nothing waits for you.'],
    ['/?all=1', 'No request that you may see waits for a decision.'],
    ['/?state=expired', 'No request that you may see is expired.'],
  ])('says at %s in words that there is none', async (path, words) => {
    const empty = { queue: async () => ({ items: [], next: null, nowMs: NOW_MS }) };
    expect((await textOf(empty, path)).page).toContain(words);
  });

  it.each(['/?state=open', '/?colour=red', '/requests/x?revision=0', '/operations?state=gone', '/grants?all=yes'])(
    'answers an address that no page gave out, %s, with what is wrong with it',
    async (path) => {
      const { status, page } = await textOf({}, path);
      expect(status).toBe(400);
      expect(page).toContain('Nothing was recorded.');
    },
  );

  it('answers a cursor that nobody gave out', async () => {
    const strange = { queue: () => Promise.reject(new BadCursor('no')) };
    expect((await textOf(strange, '/?cursor=x')).status).toBe(400);
  });

  it('says no more of a fault than that there is one', async () => {
    const broken = { queue: () => Promise.reject(new Error('secret of the database')) };
    const error = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const { status, page } = await textOf(broken, '/');
    error.mockRestore();
    expect(status).toBe(500);
    expect(page).not.toContain('secret');
    expect(page).toContain('This did not work');
  });
});

describe('what is not there, or away', () => {
  it('is one page for everything that is not there', async () => {
    const { status, page } = await textOf({}, '/nothing/here');
    expect(status).toBe(404);
    expect(page).toBe((await textOf({ request: async () => null }, '/requests/x')).page);
  });

  it('names the ledger that is away, and what that means', async () => {
    const busy = new LedgerError('LEDGER_BUSY', { ledger: 'sqlite ledger.db', detail: 'locked' });
    const error = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const { status, page } = await textOf({ queue: () => Promise.reject(busy) }, '/');
    error.mockRestore();
    expect(status).toBe(503);
    expect(page).toContain('The ledger sqlite ledger.db was locked by others for too long: locked.');
  });
});

describe('the story of an operation', () => {
  const reviews: Partial<Reviews> = { operation: async () => STORY, settle: async () => null };

  it('tells each fact in words, with its number, its time and all of its body', async () => {
    const { page } = await textOf(reviews, '/operations/x');
    expect(page).toContain('<code>#7</code>');
    expect(page).toContain('The agent proposed the call');
    expect(page).toContain('2027-01-15 07:59:55 UTC');
    expect(page).toContain('The call was re-checked and sent');
    expect(page).toContain('&quot;attempt&quot;: 1');
  });

  it('shows a fact of a kind that it does not know, whole and safely [SCREEN-2]', async () => {
    const { page } = await textOf(reviews, '/operations/x');
    expect(page).toContain('A fact of a kind that this console does not know');
    expect(page).toContain('comet.seen');
    expect(page).toContain('a ⟦U+202E⟧tail');
    expect(page).toContain('&quot;&lt;b&gt;&quot;: &quot;&lt;i&gt;&quot;');
  });

  it('offers an operator to settle an unknown outcome, and nobody else', async () => {
    expect((await textOf(reviews, '/operations/x', OPERATOR)).page).toContain(
      `action="/operations/${OPERATION_ID}/settlement"`,
    );
    const { page } = await textOf(reviews, '/operations/x');
    expect(page).not.toContain('/settlement');
    expect(page).toContain('An operator has to find out and settle it.');
  });

  it('is not found where the viewer may not see it', async () => {
    expect((await textOf({ operation: async () => null }, '/operations/x')).status).toBe(404);
  });

  it('takes a settlement with its reason, and leads back to the story', async () => {
    const settled: unknown[] = [];
    const settling: Partial<Reviews> = {
      settle: async (_viewer, settlement) => {
        settled.push(settlement);
        return { ok: true, state: { status: 'allowed', revision: 0 } };
      },
    };
    const answer = await post(settling, `/operations/${OPERATION_ID}/settlement`, {
      outcome: 'failed',
      reason: 'looked',
    });
    expect(settled).toEqual([{ operationId: OPERATION_ID, outcome: 'failed', reason: 'looked' }]);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`/operations/${OPERATION_ID}?said=settled`);
  });

  it.each([
    ['no reason', { outcome: 'failed', reason: ' ' }],
    ['no outcome', { reason: 'looked' }],
    ['another outcome', { outcome: 'maybe', reason: 'looked' }],
  ])('takes no settlement with %s', async (_what, form) => {
    expect((await post({}, `/operations/${OPERATION_ID}/settlement`, form)).status).toBe(400);
  });

  it('says why an outcome cannot be settled; to others than operators there is nothing', async () => {
    const form = { outcome: 'failed', reason: 'looked' };
    const late: Partial<Reviews> = { settle: async () => ({ ok: false, detail: 'only an unknown one is settled' }) };
    const answer = await post(late, `/operations/${OPERATION_ID}/settlement`, form);
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain('only an unknown one is settled');
    expect((await post(reviews, `/operations/${OPERATION_ID}/settlement`, form)).status).toBe(404);
  });

  it('lists operations by outcome', async () => {
    const asked: unknown[] = [];
    const listing: Partial<Reviews> = {
      operations: async (_viewer, query) => {
        asked.push(query);
        return { items: [OPERATION], next: 'more' };
      },
    };
    const { page } = await textOf(listing, '/operations?state=unknown');
    expect(asked).toEqual([{ state: 'unknown' }]);
    expect(page).toContain(`href="/operations/${OPERATION_ID}"`);
    expect(page).toContain('href="/operations?state=unknown&amp;cursor=more"');
  });
});

describe('grants', () => {
  const view: GrantsView = { grants: [GRANT], policy: null, nowMs: NOW_MS };

  it('say what they permit, what is left of them, and who gave them', async () => {
    const { page } = await textOf({ grants: async () => view }, '/grants');
    expect(page).toContain(
      'up to 3 uses within 1 h of calls with the same material fields, whatever their other arguments',
    );
    expect(page).toContain('1 of 3');
    expect(page).toContain('in 10 min</time>');
    expect(page).not.toContain('/revocation');
  });

  it('may be revoked by an operator, with a reason', async () => {
    const { page } = await textOf({ grants: async () => view }, '/grants', OPERATOR);
    expect(page).toContain('action="/grants/gr_1/revocation"');
    const revoked: unknown[] = [];
    const revoking: Partial<Reviews> = {
      revokeGrant: async (_viewer, revocation) => {
        revoked.push(revocation);
        return { ok: true, grant: {} as never };
      },
    };
    const answer = await post(revoking, '/grants/gr_1/revocation', { reason: 'no longer needed' });
    expect(revoked).toEqual([{ grantId: 'gr_1', reason: 'no longer needed' }]);
    expect(answer.headers.get('location')).toBe('/grants?all=1&said=gr_1');
    expect((await post(revoking, '/grants/gr_1/revocation', { reason: '' })).status).toBe(400);
  });

  it('that ended before are not revoked, and say so', async () => {
    const ended: Partial<Reviews> = {
      revokeGrant: async () => ({ ok: false, detail: 'too late: grant gr_1 was used up before', grant: {} as never }),
    };
    const answer = await post(ended, '/grants/gr_1/revocation', { reason: 'x' });
    expect(answer.status).toBe(409);
    expect(await answer.text()).toMatch(/was used up before[^]*What you wrote: <bdi class="given" dir="ltr">x</);
    expect((await post({ revokeGrant: async () => null }, '/grants/gr_1/revocation', { reason: 'x' })).status).toBe(
      404,
    );
  });

  it('say that one was just revoked only where the viewer did it', async () => {
    const by = (revokedBy: string): Partial<Reviews> => ({
      grants: async () => ({ ...view, grants: [{ ...GRANT, revokedAtMs: NOW_MS, revokedBy, revokedReason: 'x' }] }),
    });
    expect((await textOf(by('dana'), '/grants?all=1&said=gr_1')).page).toContain('is revoked and permits nothing more');
    expect((await textOf(by('eli'), '/grants?all=1&said=gr_1')).page).not.toContain('class="flash"');
  });
});
