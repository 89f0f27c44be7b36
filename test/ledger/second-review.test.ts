import { isSampled } from '../../core/second-review';
import type { Policy } from '../../core/policy';
import { verifyAudit } from '../../ledger/audit-verify';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { sampledDecisions } from '../../ledger/second-reviews';
import { activate, askOf, decisionFor, openPending, POLICY, prepared } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const withShare = (secondReviewShare: number): Policy => ({
  ...POLICY,
  console: { keys: [], operators: { groups: ['dba-leads'], people: [] }, secondReviewShare },
});

test('a sample holds about the share that is asked for, none of nothing and all of everything', () => {
  const hashes = Array.from({ length: 256 }, (_, at) => `${at.toString(16).padStart(2, '0')}ffffff${'0'.repeat(56)}`);
  const sampled = (share: number) => hashes.filter((hash) => isSampled(hash, share)).length;
  expect([sampled(0), sampled(0.25), sampled(1)]).toEqual([0, 64, 256]);
});

describe.each(STORE_KINDS)('second reviews and reversals on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  beforeEach(async () => {
    fresh = await freshStore(kind);
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger, withShare(1));
  });
  afterEach(async () => {
    const { rows } = await verifyAudit(fresh.store, { publicKeys: [] });
    await fresh.remove();
    expect(rows?.problems).toEqual([]);
  });

  const decided = async (answer: 'allow' | 'deny', call = prepared()) => {
    const request = await openPending(ledger, call, active);
    await ledger.recordDecision(decisionFor(request, answer, { reason: 'because' }), call.ref.workflowId);
    return { call, request };
  };
  const sample = (share = 1) => sampledDecisions(fresh.store.db, { share, sinceMs: 0 });
  const facts = async (name: string) =>
    (await fresh.store.db.selectFrom('audit').select('body').where('kind', '=', name).execute()).map(
      ({ body }) => JSON.parse(body) as unknown,
    );

  test('what people decided is sampled, with who decided; what waits is not', async () => {
    const [one, two] = [await decided('allow'), await decided('deny')];
    await openPending(ledger, prepared(), active);
    const found = await sample();
    expect(
      found.map(({ request, answer, deciders, second }) => [request.operationId, answer, deciders, second]),
    ).toEqual(
      expect.arrayContaining([
        [one.request.operationId, 'allow', ['r1'], null],
        [two.request.operationId, 'deny', ['r1'], null],
      ]),
    );
    expect(found).toHaveLength(2);
    expect(await sample(0)).toEqual([]);
  });

  test('a call that a window let through was decided by nobody, and is not sampled', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: 9, durationMs: 60_000, total: {} } });
    const sibling = prepared({ ask });
    await openPending(ledger, sibling, active);
    const { request } = await decided('allow', prepared({ ask }));
    expect((await sample()).map((found) => found.request.operationId)).toEqual([request.operationId]);
  });

  test('a second review says what somebody else would have answered, is told the first answer after, and counts once', async () => {
    const { operationId, revision } = (await decided('allow')).request;
    const given = { operationId, revision, answer: 'deny', note: 'too many rows', by: 'r2' } as const;
    expect(await ledger.giveSecondReview({ ...given, note: ' ' })).toEqual({
      ok: false,
      code: 'noteMissing',
      detail: 'say what you would have denied it for',
    });
    const both = await Promise.all([ledger.giveSecondReview(given), ledger.giveSecondReview(given)]);
    expect(both).toEqual([
      { ok: true, agrees: false, decided: 'allow' },
      { ok: false, code: 'done', detail: 'r2 reviewed it before' },
    ]);
    expect(await ledger.giveSecondReview({ ...given, by: 'l1' })).toEqual({
      ok: false,
      code: 'done',
      detail: 'r2 reviewed it before',
    });
    expect(await facts('review.second')).toEqual([
      { revision, answer: 'deny', by: 'r2', note: 'too many rows', verified: false, agrees: false },
    ]);
    expect((await sample())[0]?.second).toMatchObject({ answer: 'deny', by: 'r2', note: 'too many rows' });
    expect((await ledger.dispatch((await decided('allow')).call.dispatching(active))).kind).toBe('dispatched');
  });

  test('nobody reviews their own decision, their own call, what is not sampled, or what they are not asked about', async () => {
    const { operationId, revision } = (await decided('allow')).request;
    const own = await decided('allow', prepared({ requester: { subject: 'r2', agent: 'bot', chain: [] } }));
    const given = { answer: 'allow', note: '' } as const;
    const told = async (of: { operationId: string; revision: number }, by: string) => {
      const { operationId: id, revision: at } = of;
      return ledger.giveSecondReview({ ...given, operationId: id, revision: at, by });
    };
    for (const by of ['r1', 'u1', 'nobody'])
      expect(await told({ operationId, revision }, by)).toMatchObject({ ok: false, code: 'notOpen' });
    expect((await told(own.request, 'r2')).ok).toBe(false);
    expect((await told(own.request, 'l1')).ok).toBe(true);
    active = await activate(ledger, withShare(0));
    expect((await told({ operationId, revision }, 'r2')).ok).toBe(false);
  });

  test('a reversal is put on record once, with its reason, for what was executed; the operation stays executed', async () => {
    const { call } = await decided('allow');
    const { operationId } = call.ref;
    const reversal = { operationId, by: 'amira', reason: 'the wrong tenant' };
    const told = async (more = {}) => ledger.reportReversal({ ...reversal, ...more });
    expect(await told()).toEqual({ ok: false, detail: `no operation ${operationId} was sent` });
    await ledger.dispatch(call.dispatching(active));
    expect((await told()).ok).toBe(false);
    await ledger.recordOutcome(operationId, { outcome: 'executed', result: '{}', isError: false, evidence: 'answer' });
    expect(await told({ reason: '\u200b' })).toEqual({ ok: false, detail: 'a reversal needs a reason' });
    expect((await Promise.all([told(), told()])).filter(({ ok }) => ok)).toHaveLength(1);
    expect(await facts('operation.reversed')).toEqual([{ by: 'amira', reason: 'the wrong tenant', verified: false }]);
    expect((await ledger.operation(operationId))?.state).toBe('executed');
    const events = await fresh.store.db.selectFrom('outbox').select('type').execute();
    expect(events.map(({ type }) => type)).toContain('dev.holdpoint.operation.reversed');
    const [similar] = (await openPending(ledger, prepared(), active)).similar;
    expect(similar).toMatchObject({ operationId, state: 'executed', reversed: true });
    expect(similar).not.toHaveProperty('isError');
  });
});
