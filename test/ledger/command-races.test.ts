import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import type { Store } from '../../ledger/transaction';
import { lookUpOutcome } from '../../activities/look-up-outcome';
import { activate, askOf, decisionFor, openPending, prepared } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const WINDOW = askOf({ validity: { kind: 'window', uses: null, durationMs: 900_000, total: {} } });
const EXECUTED = { outcome: 'executed', result: '{}', isError: false, evidence: 'answer' } as const;

describe.each(STORE_KINDS)('two processes on one ledger on %s', (kind) => {
  let fresh: FreshStore;
  let others: Store;
  let one: Ledger;
  let two: Ledger;
  let active: Active;

  beforeEach(async () => {
    fresh = await freshStore(kind);
    others = await fresh.another();
    one = createLedger(fresh.store, { defaultTrust: 'namespace' });
    two = createLedger(others, { defaultTrust: 'namespace' });
    active = await activate(one);
  });
  afterEach(() => fresh.remove());

  test('a window that opens while its sibling is denied, withdrawn or expired frees no such sibling', async () => {
    for (let round = 0; round < 20; round += 1) {
      const requester = { subject: `someone-${round}`, agent: 'bot', chain: [] };
      const [first, sibling] = [prepared({ ask: WINDOW, requester }), prepared({ ask: WINDOW, requester })];
      const request = await openPending(one, first, active);
      const other = await openPending(one, sibling, active);
      const [, denied] = await Promise.all([
        one.recordDecision(decisionFor(request, 'allow'), first.ref.workflowId),
        two.recordDecision(decisionFor(other, 'deny', { reviewer: 'r2' }), sibling.ref.workflowId),
      ]);
      const sent = await two.dispatch(sibling.dispatching(active));
      expect({ denied: denied.verdict.code, sent: sent.kind }).toEqual(
        denied.verdict.code === 'accepted'
          ? { denied: 'accepted', sent: 'state' }
          : { denied: 'conflict', sent: 'dispatched' },
      );
    }
  });

  test('an operation is never both sent and back in review', async () => {
    for (let round = 0; round < 20; round += 1) {
      const turnId = `t-${round}`;
      const requester = { subject: turnId, agent: 'bot', chain: [] };
      const call = prepared({ turnId, requester });
      const request = await openPending(one, call, active);
      await one.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
      const moved = prepared({ turnId, requester, resourceVersion: 8 });
      const [sent, reopened] = await Promise.all([
        one.dispatch(call.dispatching(active)),
        two.openCalls([moved.opening(active, 'resourceChanged')]),
      ]);
      const state = reopened[0]?.kind === 'state' ? reopened[0].state.status : 'none';
      expect([sent.kind, state]).toEqual(
        sent.kind === 'dispatched' ? ['dispatched', 'dispatched'] : ['state', 'pending'],
      );
    }
  });

  test('a call that was taken back, though nobody was asked about it, is not sent by an attempt that comes late', async () => {
    const call = prepared({ ask: null });
    await one.openCalls([call.opening(active)]);
    expect(await one.withdraw(call.ref.operationId, 'no longer needed')).toMatchObject({
      end: { outcome: 'withdrawn' },
    });
    expect(await two.dispatch(call.dispatching(active))).toMatchObject({
      kind: 'state',
      state: { end: { outcome: 'withdrawn' } },
    });
    expect((await two.openCalls([call.opening(active)]))[0]).toMatchObject({
      state: { end: { outcome: 'withdrawn' } },
    });
  });

  test('a free call is either taken back or sent, never both', async () => {
    for (let round = 0; round < 20; round += 1) {
      const call = prepared({ ask: null });
      await one.openCalls([call.opening(active)]);
      const [taken, sent] = await Promise.all([
        one.withdraw(call.ref.operationId, 'x'),
        two.dispatch(call.dispatching(active)),
      ]);
      expect(taken.status).toBe(sent.kind === 'dispatched' ? 'dispatched' : 'ended');
    }
  });

  test('two calls within a total of a window are both covered, whichever comes first', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: null, durationMs: 900_000, total: { amount: 500 } } });
    const calls = [prepared({ ask }), prepared({ ask }), prepared({ ask })] as const;
    const request = await openPending(one, calls[0], active);
    await one.recordDecision(decisionFor(request, 'allow'), calls[0].ref.workflowId);
    await one.openCalls([calls[1].opening(active), calls[2].opening(active)]);
    const amounts = { amounts: { amount: 200 } };
    const sent = await Promise.all([
      one.dispatch(calls[1].dispatching(active, amounts)),
      two.dispatch(calls[2].dispatching(active, amounts)),
    ]);
    expect(sent.map((each) => each.kind)).toEqual(['dispatched', 'dispatched']);
  });

  describe('an operation whose first attempt is proven absent', () => {
    const lookUp = { v: 1, server: {}, contract: { settleAfterMs: 0 }, arguments: {}, idempotent: true } as never;
    const absent = async (turnId: string) => {
      const call = prepared({ turnId });
      const request = await openPending(one, call, active);
      await one.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
      await one.dispatch(call.dispatching(active, { lookUp }));
      await one.recordAbsence(call.ref.operationId, 1);
      return call;
    };

    test.each([
      ['the bound resource moved', { resourceVersion: 8 }],
      ['the rule needs two now', { ask: askOf({ quorum: 2, version: 'v2' }) }],
    ])('is not sent again where %s: failed, and the record says why', async (_name, change) => {
      await absent('t1');
      const now = prepared({ turnId: 't1', ...change });
      expect(await two.dispatch(now.dispatching(active, { attempt: 2 }))).toMatchObject({
        kind: 'state',
        state: { end: { outcome: 'failed', detail: expect.stringContaining('not sent again') as string } },
      });
    });

    test('is not sent again where its grant was revoked', async () => {
      const call = await absent('t1');
      await fresh.tamper('update grants set revoked_at = 1');
      expect(await two.dispatch(call.dispatching(active, { attempt: 2 }))).toMatchObject({
        state: { end: { outcome: 'failed' } },
      });
    });

    test('is not called failed by a second look-up while its next attempt is under way', async () => {
      const call = await absent('t1');
      await one.dispatch(call.dispatching(active, { attempt: 2, lookUp }));
      const { operationId } = call.ref;
      const stale = { outcome: 'failed', detail: 'absent', evidence: 'lookUp', attempt: 1 } as const;
      expect(await two.recordOutcome(operationId, stale)).toMatchObject({ status: 'dispatched' });
      expect(await one.recordOutcome(operationId, EXECUTED)).toMatchObject({ end: { outcome: 'executed' } });
    });

    test('that answers after all is executed, and the contradiction is on record', async () => {
      const call = await absent('t1');
      const { operationId } = call.ref;
      await one.recordOutcome(operationId, { outcome: 'failed', detail: 'absent', evidence: 'lookUp', attempt: 1 });
      expect(await two.recordOutcome(operationId, EXECUTED)).toMatchObject({ end: { outcome: 'executed' } });
      const kinds = await fresh.store.db.selectFrom('audit').select('kind').orderBy('seq').execute();
      expect(kinds.map((row) => row.kind)).toContain('operation.contradicted');
    });
  });

  test('a look-up that finds its absence recorded by another answers the row', async () => {
    const call = prepared();
    const request = await openPending(one, call, active);
    await one.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
    await one.dispatch(call.dispatching(active, { leaseMs: 0 }));
    await one.recordAbsence(call.ref.operationId, 1);
    const found = await lookUpOutcome({ ledger: two } as never, call.ref.operationId);
    expect(found).toMatchObject({ state: { status: 'allowed' }, attempt: 2 });
  });

  test("the requester's own human is asked although a window covers the call", async () => {
    const confirm = { ...WINDOW, steps: [{ kind: 'confirm', subject: 'u1' } as const, ...WINDOW.steps] };
    const [first, confirmed] = [prepared({ ask: WINDOW }), prepared({ ask: confirm })];
    const request = await openPending(one, first, active);
    await one.recordDecision(decisionFor(request, 'allow'), first.ref.workflowId);
    expect((await one.openCalls([confirmed.opening(active)]))[0]).toMatchObject({ state: { status: 'pending' } });
    expect((await one.dispatch(confirmed.dispatching(active))).kind).toBe('state');
  });
});
