import type { CallState } from '../../core/call-state';
import type { Requester } from '../../core/requester';
import { refusal } from '../../core/errors';
import type { RowProblem } from '../../ledger/actual-rows';
import { verifyAudit } from '../../ledger/audit-verify';
import { latestGrants, liveGrants } from '../../ledger/grant-queries';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import type { Opened } from '../../ledger/commands/open-call';
import {
  activate,
  askOf,
  COVERING,
  decisionFor,
  openPending,
  PEOPLE,
  POLICY,
  prepared,
  type PreparedFixture,
} from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 10);

describe.each(STORE_KINDS)('ledger commands on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;
  /** What `audit verify` says of the rows after a test: nothing, but where the test changed one itself. */
  let differing: readonly RowProblem[];

  beforeEach(async () => {
    nowMs = T0;
    differing = [];
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger);
  });
  afterEach(async () => {
    const { rows } = await verifyAudit(fresh.store, { publicKeys: [] });
    await fresh.remove();
    expect(rows?.problems).toEqual(differing);
  });

  const open = (call: PreparedFixture) => openPending(ledger, call, active);
  const state = (opened: Opened | undefined): CallState => {
    if (opened?.kind !== 'state') throw new Error(`no state: ${JSON.stringify(opened)}`);
    return opened.state;
  };
  const reopen = async (call: PreparedFixture) => state((await ledger.openCalls([call.opening(active)]))[0]);
  const allow = async (call: PreparedFixture, more = {}) => {
    const request = await open(call);
    const { verdict } = await ledger.recordDecision(decisionFor(request, 'allow', more), call.ref.workflowId);
    expect(verdict.code).toBe('accepted');
    return request;
  };
  const kinds = async () =>
    (await fresh.store.db.selectFrom('audit').select('kind').orderBy('seq').execute()).map((row) => row.kind);
  const eventTypes = async () =>
    (await fresh.store.db.selectFrom('outbox').select('type').orderBy('position').execute()).map((row) =>
      row.type.replace('dev.holdpoint.request.', ''),
    );
  const grantId = async () =>
    (await fresh.store.db.selectFrom('grants').select('grant_id').executeTakeFirstOrThrow()).grant_id;

  test('proposal, request, decision, grant, send and outcome are each a fact of its own', async () => {
    const call = prepared();
    await allow(call);
    const sent = await ledger.dispatch(call.dispatching(active));
    expect(sent).toMatchObject({ kind: 'dispatched', approval: { deciders: ['r1'] } });
    const ending = { outcome: 'executed', result: '{}', isError: false, evidence: 'answer' } as const;
    await ledger.recordOutcome(call.ref.operationId, ending);
    expect(await kinds()).toEqual([
      'policy.applied',
      'call.proposed',
      'request.opened',
      'request.allowed',
      'grant.issued',
      'decision.recorded',
      'operation.dispatched',
      'operation.executed',
    ]);
  });

  test('an allow counts to the last millisecond; at the deadline and 27 s later it is late, on record [TIME-11] [TIME2-2]', async () => {
    const calls = [prepared(), prepared(), prepared()] as const;
    const requests = [await open(calls[0]), await open(calls[1]), await open(calls[2])] as const;
    nowMs = T0 + 30 * MINUTE - 1;
    const before = await ledger.recordDecision(decisionFor(requests[0], 'allow'), calls[0].ref.workflowId);
    expect(before.verdict.code).toBe('accepted');
    nowMs = T0 + 30 * MINUTE;
    const atIt = await ledger.recordDecision(decisionFor(requests[1], 'allow'), calls[1].ref.workflowId);
    expect(atIt.verdict).toMatchObject({ code: 'late', state: 'expired' });
    nowMs = T0 + 30 * MINUTE + 27_000;
    const after = await ledger.recordDecision(decisionFor(requests[2], 'allow'), calls[2].ref.workflowId);
    expect(after.verdict.code).toBe('late');
    expect((await kinds()).filter((each) => each === 'decision.notCounted')).toHaveLength(2);
    expect((await ledger.dispatch(calls[1].dispatching(active))).kind).toBe('state');
  });

  test('a decision on a call that a window answered names who allowed the window, and its grant', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: null, durationMs: 15 * MINUTE, total: {} } });
    const sibling = prepared({ ask });
    const request = await open(sibling);
    await allow(prepared({ ask }));
    const names = `r1 (by grant ${await grantId()})`;
    const late = async (answer: 'allow' | 'deny') =>
      (await ledger.recordDecision(decisionFor(request, answer, { reviewer: 'r2' }), sibling.ref.workflowId)).verdict;
    expect(await late('allow')).toMatchObject({
      code: 'alreadyDecided',
      detail: `${names} gave the same answer before`,
      decidedBy: ['r1'],
    });
    expect(await late('deny')).toMatchObject({
      code: 'conflict',
      detail: `the request is allowed by ${names}; that stands`,
      decidedBy: ['r1'],
    });
  });

  test('a window covers to its last millisecond, and at its end asks [BIND-08] [DUR-09]', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: null, durationMs: 15 * MINUTE, total: {} } });
    await allow(prepared({ ask }));
    nowMs = T0 + 15 * MINUTE - 1;
    expect((await reopen(prepared({ ask }))).status).toBe('allowed');
    nowMs = T0 + 15 * MINUTE;
    expect((await reopen(prepared({ ask }))).status).toBe('pending');
  });

  test.each([
    ['other bound arguments [BIND-03]', { arguments: { id: 2 } }],
    ['another requester [WHO-05] [SWAP-9]', { requester: { subject: 'other', agent: 'bot', chain: [] } }],
    [
      'another chain of the same human [NEST-04]',
      { requester: { subject: 'someone', agent: 'bot', chain: ['someone', 'bot', 'sub'] } },
    ],
    ['another server [BIND-10] [SWAP-7]', { server: 'billing-db' }],
    ['another resource version', { resourceVersion: 8 }],
  ])('a live window does not cover %s', async (_name, change) => {
    const ask = askOf({ validity: { kind: 'window', uses: null, durationMs: 15 * MINUTE, total: {} } });
    await allow(prepared({ ask }));
    expect((await reopen(prepared({ ask, ...change }))).status).toBe('pending');
  });

  test('a live window does not cover the same call under a changed rule', async () => {
    const validity = { kind: 'window', uses: null, durationMs: 15 * MINUTE, total: {} } as const;
    await allow(prepared({ ask: askOf({ validity }) }));
    expect((await reopen(prepared({ ask: askOf({ validity, version: 'v2' }) }))).status).toBe('pending');
  });

  test('once is one operation: the same call in another turn asks again [EXEC-03]', async () => {
    await allow(prepared());
    expect((await reopen(prepared())).status).toBe('pending');
  });

  test('a window of three uses is used up by three [EXEC-13]', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: 3, durationMs: 60 * MINUTE, total: {} } });
    const first = prepared({ ask });
    await allow(first);
    const calls = [first, prepared({ ask }), prepared({ ask })];
    for (const call of calls.slice(1)) expect((await reopen(call)).status).toBe('allowed');
    for (const call of calls) expect((await ledger.dispatch(call.dispatching(active))).kind).toBe('dispatched');
    expect((await reopen(prepared({ ask }))).status).toBe('pending');
  });

  test('a total of 500 covers 400 and then not 200', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: null, durationMs: 60 * MINUTE, total: { amount: 500 } } });
    const [first, second] = [prepared({ ask }), prepared({ ask })];
    await allow(first);
    await reopen(second);
    expect((await ledger.dispatch(first.dispatching(active, { amounts: { amount: 400 } }))).kind).toBe('dispatched');
    const crossing = await ledger.dispatch(second.dispatching(active, { amounts: { amount: 200 } }));
    expect(crossing).toEqual({ kind: 'stale', cause: 'grantUnusable' });
  });

  test('a new window answers pending siblings with the same binding and rules, and no others', async () => {
    const ask = askOf({ validity: { kind: 'window', uses: 2, durationMs: 60 * MINUTE, total: {} } });
    const [first, same, oneTooMany] = [prepared({ ask }), prepared({ ask }), prepared({ ask })];
    const other = prepared({ ask, arguments: { id: 2 } });
    const request = await open(first);
    for (const call of [same, oneTooMany, other]) {
      nowMs += 1;
      await open(call);
    }
    await ledger.recordDecision(decisionFor(request, 'allow'), first.ref.workflowId);
    expect((await reopen(same)).status).toBe('allowed');
    expect((await reopen(oneTooMany)).status).toBe('pending');
    expect((await reopen(other)).status).toBe('pending');
    expect((await ledger.dispatch(same.dispatching(active))).kind).toBe('dispatched');
  });

  test('one allow of three identical calls under once frees one [SWAP-12]', async () => {
    const [c1, c2, c3] = ['c1', 'c2', 'c3'].map((callId) => prepared({ turnId: 't1', callId })) as [
      PreparedFixture,
      PreparedFixture,
      PreparedFixture,
    ];
    const request = await open(c1);
    await open(c2);
    await open(c3);
    await ledger.recordDecision(decisionFor(request, 'allow'), c1.ref.workflowId);
    expect((await reopen(c1)).status).toBe('allowed');
    expect((await reopen(c2)).status).toBe('pending');
    expect((await reopen(c3)).status).toBe('pending');
  });

  describe('dispatch refuses and sends nothing', () => {
    test('without a grant [EXEC-12]', async () => {
      expect(await ledger.dispatch(prepared().dispatching(active))).toEqual({ kind: 'stale', cause: 'grantUnusable' });
    });
    test('on the grant of another operation [EXEC-12]', async () => {
      await allow(prepared());
      expect(await ledger.dispatch(prepared().dispatching(active))).toEqual({ kind: 'stale', cause: 'grantUnusable' });
    });
    test('on a used grant: the operation on record answers [EXEC-12] [SWAP-4]', async () => {
      const call = prepared();
      await allow(call);
      await ledger.dispatch(call.dispatching(active));
      const second = await ledger.dispatch(call.dispatching(active));
      expect(second).toMatchObject({ kind: 'state', state: { status: 'dispatched' } });
    });
    test('while the request is pending', async () => {
      const call = prepared();
      await open(call);
      const early = await ledger.dispatch(call.dispatching(active));
      expect(early).toMatchObject({ kind: 'state', state: { status: 'pending' } });
    });
    test('with other arguments than those on record [BIND-02] [SWAP-1]', async () => {
      await allow(prepared({ turnId: 't1' }));
      const altered = prepared({ turnId: 't1', arguments: { id: 99 } });
      const answer = await ledger.dispatch(altered.dispatching(active));
      expect(answer).toMatchObject({ state: { end: { outcome: 'refused', code: 'TURN_CONFLICT' } } });
    });
    test('with a changed resource version, definition or server [BIND-06] [BIND-11] [SWAP-8] [SWAP-13]', async () => {
      const call = prepared({ turnId: 't1', resourceVersion: 7 });
      await allow(call);
      const moved = prepared({ turnId: 't1', resourceVersion: 8 });
      expect(await ledger.dispatch(moved.dispatching(active))).toEqual({ kind: 'stale', cause: 'resourceChanged' });
      const { bound } = call.dispatching(active);
      const redefined = { bindingDigest: 'x', bound: { ...bound, toolDigest: 'other' } };
      const elsewhere = { bindingDigest: 'x', bound: { ...bound, serverIdentity: 'other' } };
      expect(await ledger.dispatch(call.dispatching(active, redefined))).toEqual({
        kind: 'stale',
        cause: 'definitionChanged',
      });
      expect(await ledger.dispatch(call.dispatching(active, elsewhere))).toEqual({
        kind: 'stale',
        cause: 'serverChanged',
      });
    });
    test('where one byte of the stored arguments was changed [BIND-01]', async () => {
      const call = prepared({ arguments: { sql: 'ADD COLUMN note' } });
      await allow(call);
      await fresh.tamper(`update requests set card = replace(card, 'note', 'nota')`);
      const row = `requests ${call.ref.operationId} revision 1`;
      differing = [{ row, detail: 'card is not what was recorded' }];
      expect(await ledger.dispatch(call.dispatching(active))).toEqual({ kind: 'stale', cause: 'argumentsChanged' });
    });
    test('by a policy that is not the active one any more', async () => {
      const call = prepared();
      await allow(call);
      await activate(ledger, { ...POLICY, people: { ...PEOPLE, x: PEOPLE.u1 } });
      expect(await ledger.dispatch(call.dispatching(active))).toEqual({ kind: 'reevaluate' });
    });
    test('where the reviewer has left the group since [FORGE-12]', async () => {
      const call = prepared();
      await allow(call);
      const { r1: _left, ...people } = PEOPLE;
      const now = await activate(ledger, { ...POLICY, people });
      expect(await ledger.dispatch(call.dispatching(now))).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
    });
    test('where signatures came to be required and the allow is unsigned', async () => {
      const call = prepared();
      await allow(call);
      const now = await activate(ledger, { ...POLICY, trust: 'signatures' });
      expect(await ledger.dispatch(call.dispatching(now))).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
    });
    test('on one allow where the rule now needs two [WHO-13] [SWAP-14]', async () => {
      await allow(prepared({ turnId: 't1' }));
      const now = prepared({ turnId: 't1', ask: askOf({ quorum: 2, version: 'v2' }) });
      expect(await ledger.dispatch(now.dispatching(active))).toEqual({ kind: 'stale', cause: 'ruleChanged' });
    });
  });

  test('a changed rule that the recorded decisions satisfy still covers, with both versions on record', async () => {
    await allow(prepared({ turnId: 't1' }));
    const now = prepared({ turnId: 't1', ask: askOf({ version: 'v2' }) });
    expect(await ledger.dispatch(now.dispatching(active))).toMatchObject({
      kind: 'dispatched',
      approval: { askedRule: { version: 'v1' }, permittedRule: { version: 'v2' } },
    });
  });

  test('a stale call goes back to review as the next revision; the first and its allow stay on record [BIND-06]', async () => {
    await allow(prepared({ turnId: 't1', resourceVersion: 7 }));
    const moved = prepared({ turnId: 't1', resourceVersion: 8 });
    const reopened = state((await ledger.openCalls([moved.opening(active, 'resourceChanged')]))[0]);
    const request = { revision: 2, resourceVersion: 8, previousResourceVersion: 7 };
    expect(reopened).toMatchObject({ status: 'pending', request });
    const rows = await fresh.store.db
      .selectFrom('requests')
      .select(['revision', 'state'])
      .orderBy('revision')
      .execute();
    expect(rows).toEqual([
      { revision: 1, state: 'superseded' },
      { revision: 2, state: 'pending' },
    ]);
    expect(await fresh.store.db.selectFrom('decisions').select('revision').execute()).toEqual([{ revision: 1 }]);
    expect(await eventTypes()).toEqual(['opened', 'allowed', 'superseded', 'opened']);
  });

  test.each([
    ['withdrawn', (call: PreparedFixture) => ledger.withdraw(call.ref.operationId, 'over')],
    [
      'refused right before its effect',
      (call: PreparedFixture) =>
        ledger.openCalls([
          { ...call.opening(active, 'ruleChanged'), plan: { kind: 'refused', refusal: refusal('NO_POLICY') } },
        ]),
    ],
  ])('the grant of an allowed call that is %s ends with it; a window stays', async (_name, end) => {
    const call = prepared();
    await allow(call);
    const first = prepared({
      arguments: { id: 2 },
      ask: askOf({ validity: { kind: 'window', uses: 3, durationMs: 60 * MINUTE, total: {} } }),
    });
    await allow(first);
    await end(call);
    await end(first);
    const live = await liveGrants(fresh.store.db, nowMs, COVERING);
    expect(live.map((grant) => grant.operationId)).toEqual([first.ref.operationId]);
    const ended = (await latestGrants(fresh.store.db)).find((grant) => grant.once);
    expect(ended).toMatchObject({ revokedAtMs: nowMs, revokedBy: 'holdpoint', revokedReason: expect.any(String) });
  });

  test('a call that keeps changing is refused as UNSTABLE instead of a fourth revision [SWAP-13]', async () => {
    const seen: string[] = [];
    for (const version of [1, 2, 3, 4]) {
      const call = prepared({ turnId: 't1', resourceVersion: version });
      const cause = version === 1 ? 'first' : 'resourceChanged';
      const opened = state((await ledger.openCalls([call.opening(active, cause)]))[0]);
      seen.push(opened.status === 'ended' && opened.end.outcome === 'refused' ? opened.end.code : opened.status);
      if (opened.status === 'pending')
        await ledger.recordDecision(decisionFor(opened.request, 'allow'), call.ref.workflowId);
    }
    expect(seen).toEqual(['pending', 'pending', 'pending', 'UNSTABLE']);
    expect((await eventTypes()).slice(-2)).toEqual(['allowed', 'refused']);
    expect((await kinds()).slice(-2)).toEqual(['request.refused', 'call.refused']);
  });

  test('an allow for a superseded revision is stale, and the open one stays [BIND-07]', async () => {
    const call = prepared({ turnId: 't1', resourceVersion: 7 });
    const first = await allow(call);
    const moved = prepared({ turnId: 't1', resourceVersion: 8 });
    await ledger.openCalls([moved.opening(active, 'resourceChanged')]);
    const decision = decisionFor(first, 'allow', { reviewer: 'r2' });
    const { verdict, state: after } = await ledger.recordDecision(decision, call.ref.workflowId);
    expect(verdict).toMatchObject({ code: 'stale', state: 'pending' });
    expect(after).toMatchObject({ status: 'pending', request: { revision: 2 } });
  });

  test.each([
    ['another turn', { workflowId: 'turn-other' }, {}],
    ['a revision that does not exist yet', {}, { revision: 2 }],
    ['an operation that does not exist', {}, { operationId: `op_${'0'.repeat(40)}` }],
  ])('a decision that names %s is refused, recorded and not kept [FORGE-2]', async (_name, at, more) => {
    const call = prepared();
    const request = await open(call);
    const { workflowId = call.ref.workflowId } = at as { workflowId?: string };
    const { verdict } = await ledger.recordDecision(decisionFor(request, 'allow', more), workflowId);
    expect(verdict.code).toBe('unknownRequest');
    expect((await reopen(call)).status).toBe('pending');
    expect((await kinds()).at(-1)).toBe('decision.notCounted');
  });

  test('denied three times within the hour, the fourth is told to wait; after the hour it asks [DENY-02] [TIME2-11]', async () => {
    for (let round = 0; round < 3; round += 1) {
      const call = prepared();
      nowMs = T0 + round * 20 * MINUTE;
      await ledger.recordDecision(decisionFor(await open(call), 'deny'), call.ref.workflowId);
    }
    nowMs = T0 + 45 * MINUTE;
    const fourth = await reopen(prepared());
    expect(fourth).toMatchObject({
      end: { code: 'DENIALS_REPEATED', detail: expect.stringContaining('900 s') as string },
    });
    nowMs = T0 + 61 * MINUTE;
    expect((await reopen(prepared())).status).toBe('pending');
  });

  test('a denial closes that request only: the same call asks anew [DENY-01] [TIME2-10]', async () => {
    const call = prepared();
    await ledger.recordDecision(decisionFor(await open(call), 'deny', { reason: 'use staging' }), call.ref.workflowId);
    expect(await reopen(call)).toMatchObject({ end: { outcome: 'denied', reason: 'use staging' } });
    expect((await reopen(prepared())).status).toBe('pending');
  });

  test('the eleventh open request of one human, through whatever agents, is refused and the ten stay [TIME-09] [TIME2-6]', async () => {
    const through = (agent: string): Requester => ({ subject: 'someone', agent, chain: ['someone', agent] });
    for (let index = 0; index < 10; index += 1) await open(prepared({ requester: through(`bot-${index}`) }));
    expect(await reopen(prepared({ requester: through('bot-10') }))).toMatchObject({
      end: { code: 'OPEN_REQUESTS_LIMIT' },
    });
    expect((await reopen(prepared({ requester: { ...through('bot-0'), subject: 'another' } }))).status).toBe('pending');
    const rows = await fresh.store.db.selectFrom('requests').select('state').where('subject', '=', 'someone').execute();
    expect(rows).toEqual(Array(10).fill({ state: 'pending' }));
  });

  test('an expiry with one allow of two needed says so, to whoever reads it; with none it says nothing', async () => {
    const [half, none] = [prepared({ ask: askOf({ quorum: 2 }) }), prepared({ ask: askOf({ quorum: 2 }) })];
    await allow(half);
    await open(none);
    nowMs = T0 + 30 * MINUTE;
    const end = { outcome: 'expired', detail: 'the deadline passed' };
    const expired = { status: 'ended', end: { ...end, counted: { allows: 1, needed: 2 } } };
    expect(await ledger.advanceRequest(half.ref.operationId)).toEqual(expired);
    expect(await ledger.advanceRequest(half.ref.operationId)).toEqual(expired);
    expect(await reopen(half)).toEqual(expired);
    expect(await ledger.withdraw(half.ref.operationId, 'late')).toEqual(expired);
    expect(await ledger.advanceRequest(none.ref.operationId)).toEqual({ status: 'ended', end });
  });

  test('escalation is told once and keeps the deadline; the leads may then decide [TIME-03]', async () => {
    const call = prepared();
    const request = await open(call);
    nowMs = T0 + 10 * MINUTE;
    const escalated = await ledger.advanceRequest(call.ref.operationId);
    expect(escalated).toMatchObject({ status: 'pending', level: 1, dueAtMs: T0 + 30 * MINUTE });
    await ledger.advanceRequest(call.ref.operationId);
    expect((await kinds()).filter((each) => each === 'request.escalated')).toHaveLength(1);
    const byLead = decisionFor(request, 'allow', { reviewer: 'l1' });
    expect((await ledger.recordDecision(byLead, call.ref.workflowId)).verdict.code).toBe('accepted');
  });

  test('a group that empties later closes the request as NO_REVIEWERS after its last level [WHO-10]', async () => {
    const call = prepared();
    await open(call);
    await activate(ledger, { ...POLICY, people: { u1: PEOPLE.u1 } });
    const advanced = await ledger.advanceRequest(call.ref.operationId);
    expect(advanced).toMatchObject({ end: { outcome: 'refused', code: 'NO_REVIEWERS' } });
  });

  test('withdrawing ends what was not sent, and leaves what was', async () => {
    const [first, sent] = [prepared(), prepared()];
    await open(first);
    await allow(sent);
    await ledger.dispatch(sent.dispatching(active));
    expect(await ledger.withdraw(first.ref.operationId, 'no longer needed')).toMatchObject({
      end: { outcome: 'withdrawn' },
    });
    expect(await ledger.withdraw(sent.ref.operationId, 'no longer needed')).toMatchObject({ status: 'dispatched' });
  });

  test('a known outcome never turns unknown, and an unknown one is settled once [EXEC-07] [EXEC-08]', async () => {
    const call = prepared({ ask: null });
    const { operationId } = call.ref;
    await ledger.openCalls([call.opening(active)]);
    await ledger.dispatch(call.dispatching(active));
    await ledger.recordOutcome(operationId, { outcome: 'unknown', detail: 'no answer' });
    const settlement = { operationId, outcome: 'executed', by: 'dana', reason: 'seen in the log' } as const;
    expect((await ledger.settle(settlement)).ok).toBe(true);
    const later = await ledger.recordOutcome(operationId, { outcome: 'unknown', detail: 'later' });
    expect(later).toMatchObject({ end: { outcome: 'executed', evidence: 'settlement' } });
    expect((await ledger.settle({ ...settlement, outcome: 'failed' })).ok).toBe(false);
  });

  test('revoking after the last use says that it came too late [EXEC-14]', async () => {
    const call = prepared();
    await allow(call);
    await ledger.dispatch(call.dispatching(active));
    const revoked = await ledger.revokeGrant({ grantId: await grantId(), by: 'dana', reason: 'x' });
    expect(revoked).toMatchObject({ ok: false, detail: expect.stringContaining('too late') as string });
  });

  test('a revoked grant sends nothing; the call asks again and the grant stays revoked [SWAP-19]', async () => {
    const call = prepared();
    await allow(call);
    const id = await grantId();
    expect((await ledger.revokeGrant({ grantId: id, by: 'dana', reason: 'x' })).ok).toBe(true);
    expect(await ledger.dispatch(call.dispatching(active))).toEqual({ kind: 'stale', cause: 'grantUnusable' });
    const reopened = state((await ledger.openCalls([call.opening(active, 'grantUnusable')]))[0]);
    expect(reopened).toMatchObject({ status: 'pending', request: { revision: 2 } });
    expect((await ledger.revokeGrant({ grantId: id, by: 'eli', reason: 'y' })).ok).toBe(false);
  });

  test('an idempotent tool is sent to again only after proven absence, by one caller', async () => {
    const call = prepared();
    await allow(call);
    await ledger.dispatch(call.dispatching(active));
    expect((await ledger.dispatch(call.dispatching(active, { attempt: 2 }))).kind).toBe('state');
    expect(await ledger.recordAbsence(call.ref.operationId, 1)).toBe(true);
    const again = () => ledger.dispatch(call.dispatching(active, { attempt: 2 }));
    const both = await Promise.all([again(), again()]);
    expect(both.map((each) => each.kind).sort()).toEqual(['dispatched', 'state']);
  });
});
